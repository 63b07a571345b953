// Softmax and log-softmax along contiguous rows.
#include "kernels/softmax.h"

#include "core/parallel.h"
#include "kernels/cpu/row_vector.h"

namespace zoo {
namespace {

ZOO_INLINE int64_t row_grain(int64_t width) { return 8192 / (width + 1) + 1; }

template <class T, bool kLog>
void forward(RowShape s, const T* x_all, T* y_all) {
  const int64_t n = s.width;
  parallel_for(0, s.rows, row_grain(n), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* x = x_all + row * n;
      T* y = y_all + row * n;
      const T top = max_along(x, n);
      const double total = sum_along<T>(n, [&](auto lane, int64_t i) {
        const auto e = exp_of(load<typename decltype(lane)::type>(x + i) - top);
        if constexpr (!kLog) store(y + i, e);
        return e;
      });
      if constexpr (kLog) {
        const T log_total = static_cast<T>(std::log(total));
        along<T>(n, [&](auto lane, int64_t i) {
          store(y + i, load<typename decltype(lane)::type>(x + i) - top - log_total);
        });
      } else {
        const T factor = static_cast<T>(1.0 / total);
        along<T>(n, [&](auto lane, int64_t i) {
          store(y + i, load<typename decltype(lane)::type>(y + i) * factor);
        });
      }
    }
  });
}

template <class T, bool kLog>
void backward(RowShape s, const T* g_all, const T* y_all, T* grad_all) {
  const int64_t n = s.width;
  parallel_for(0, s.rows, row_grain(n), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* g = g_all + row * n;
      const T* y = y_all + row * n;
      T* grad = grad_all + row * n;
      const T total = static_cast<T>(sum_along<T>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::type;
        return kLog ? load<V>(g + i) : load<V>(g + i) * load<V>(y + i);
      }));
      along<T>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::type;
        if constexpr (kLog) {
          store(grad + i, load<V>(g + i) - exp_of(load<V>(y + i)) * total);
        } else {
          store(grad + i, load<V>(y + i) * (load<V>(g + i) - total));
        }
      });
    }
  });
}

void softmax(DType dtype, RowShape s, const void* x, void* y, bool log) {
  const auto run = [&](auto t) {
    using T = decltype(t);
    const T* from = static_cast<const T*>(x);
    T* to = static_cast<T*>(y);
    log ? forward<T, true>(s, from, to) : forward<T, false>(s, from, to);
  };
  dtype == DType::kF64 ? run(double{}) : run(float{});
}

void softmax_grad(DType dtype, RowShape s, const void* grad, const void* y, void* grad_x,
                  bool log) {
  const auto run = [&](auto t) {
    using T = decltype(t);
    const T* g = static_cast<const T*>(grad);
    const T* from = static_cast<const T*>(y);
    T* to = static_cast<T*>(grad_x);
    log ? backward<T, true>(s, g, from, to) : backward<T, false>(s, g, from, to);
  };
  dtype == DType::kF64 ? run(double{}) : run(float{});
}

}  // namespace

ZOO_REGISTER_CPU(softmax_kernel, &softmax);
ZOO_REGISTER_CPU(softmax_grad_kernel, &softmax_grad);

}  // namespace zoo
