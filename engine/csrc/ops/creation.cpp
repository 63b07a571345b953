// Tensors from nothing.
#include <cmath>

#include "kernels/pointwise.h"
#include "ops/complex.h"
#include "ops/ops.h"

namespace zoo {
namespace {

// A count of values that a range holds, checked.
int64_t range_length(double start, double stop, double step) {
  check(step != 0 && std::isfinite(step), "arange: expected a finite step other than 0, got ",
        step);
  check(std::isfinite(start) && std::isfinite(stop), "arange: expected finite ends, got ", start,
        " and ", stop);
  return std::max<int64_t>(0, static_cast<int64_t>(std::ceil((stop - start) / step)));
}

template <class F>
Tensor generate(int64_t n, DType dtype, F value) {
  Tensor t = empty({n}, dtype);
  visit_dtype(dtype, [&]<class T>() {
    T* out = t.data<T>();
    for (int64_t i = 0; i < n; ++i) {
      out[i] = static_cast<T>(static_cast<ComputeType<T>>(value(i)));
    }
  });
  return t;
}

// A number in a tensor's dtype. 64-bit integers beyond 2^53 come through tensors instead.
template <class T>
T element_of(double value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return value < 0 ? static_cast<T>(static_cast<int64_t>(value))
                     : static_cast<T>(static_cast<uint64_t>(value));
  } else {
    return static_cast<T>(static_cast<ComputeType<T>>(value));
  }
}

}  // namespace

Tensor fill_(const Tensor& t, double value) {
  if (is_complex(t.dtype())) {
    fill_(complex_part(t, 0), value);
    fill_(complex_part(t, 1), 0);
    return t;
  }
  visit_dtype(t.dtype(), [&]<class T>() {
    const T element = element_of<T>(value);
    fill_kernel.on(t.device().type)(make_loop(t.shape(), {&t}), t.dtype(), &element);
  });
  return t;
}

Tensor full(const Dims& shape, double value, DType dtype, Device device) {
  return fill_(empty(shape, dtype, device), value);
}
Tensor zeros(const Dims& shape, DType dtype, Device device) { return full(shape, 0, dtype, device); }
Tensor ones(const Dims& shape, DType dtype, Device device) { return full(shape, 1, dtype, device); }
Tensor zeros_like(const Tensor& t) { return fill_(empty_like(t), 0); }
Tensor ones_like(const Tensor& t) { return fill_(empty_like(t), 1); }
Tensor scalar(double value, DType dtype) {
  if (is_complex(dtype)) [[unlikely]] return full({}, value, dtype);
  Tensor t = empty({}, dtype);
  visit_dtype(dtype, [&]<class T>() { *t.data<T>() = element_of<T>(value); });
  return t;
}

Tensor arange(double start, double stop, double step, DType dtype) {
  const int64_t n = range_length(start, stop, step);
  if (is_integral(dtype) && std::floor(start) == start && std::floor(step) == step) {
    const auto first = static_cast<int64_t>(start), by = static_cast<int64_t>(step);
    return generate(n, dtype, [=](int64_t i) { return first + i * by; });
  }
  return generate(n, dtype, [=](int64_t i) { return start + static_cast<double>(i) * step; });
}

Tensor arange_whole(int64_t start, int64_t stop, int64_t step, DType dtype) {
  check(step != 0, "arange: expected a step other than 0");
  // Unsigned: the distance of two int64 may exceed an int64.
  const auto distance = static_cast<uint64_t>(step > 0 ? stop : start) -
                        static_cast<uint64_t>(step > 0 ? start : stop);
  const uint64_t by = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const bool none = step > 0 ? stop <= start : stop >= start;
  const uint64_t n = none ? 0 : (distance - 1) / by + 1;
  return generate(static_cast<int64_t>(n), dtype, [=](int64_t i) {
    return static_cast<int64_t>(static_cast<uint64_t>(start) +
                                static_cast<uint64_t>(i) * static_cast<uint64_t>(step));
  });
}

Tensor linspace(double start, double stop, int64_t num, DType dtype, bool endpoint) {
  check(num >= 0, "linspace: expected num >= 0, got ", num);
  check<TypeError>(is_floating(dtype), "linspace: expected a floating-point dtype, got ",
                   dtype_name(dtype));
  const int64_t intervals = endpoint ? num - 1 : num;
  const double step = intervals > 0 ? (stop - start) / static_cast<double>(intervals) : 0;
  return generate(num, dtype, [=](int64_t i) {
    return endpoint && num > 1 && i == num - 1 ? stop : start + static_cast<double>(i) * step;
  });
}

Tensor eye(int64_t rows, int64_t columns, int64_t k, DType dtype) {
  Tensor t = zeros({rows, columns}, dtype);
  if (k >= columns || k <= -rows) return t;
  const Tensor d = diagonal(t, k, 0, 1);
  fill_(d, 1);
  return t;
}

}  // namespace zoo
