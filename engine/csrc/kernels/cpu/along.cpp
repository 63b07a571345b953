// Picking and placing single elements along one axis; counting.
#include "kernels/along.h"

#include <algorithm>

#include "core/allocator.h"
#include "core/parallel.h"
#include "kernels/cpu/real_dtypes.h"

namespace zoo {
namespace {

ZOO_INLINE char* row_of(const AlongArgs& a, int64_t row) {
  char* at = a.base;
  for (int d = 0; d < a.outer_ndim; ++d) {
    at += row % a.outer_shape[d] * a.outer_strides[d];
    row /= a.outer_shape[d];
  }
  return at;
}

// The place that entry `position` of the index names; the first one if it names none, which the
// operation then reports.
ZOO_INLINE char* element(const AlongArgs& a, char* row, int64_t position) {
  const int64_t i = a.index[position];
  if (i < -a.size || i >= a.size) [[unlikely]] {
    __atomic_store_n(a.outside, position, __ATOMIC_RELAXED);
    return row;
  }
  return row + (i < 0 ? i + a.size : i) * a.step;
}

void gather_cpu(const AlongArgs& a, DType dtype) {
  visit_bits(dtype, [&]<class Bits>() {
    parallel_for(0, a.rows * a.count, 8192, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end;) {
        char* row = row_of(a, i / a.count);
        const int64_t stop = std::min(end, (i / a.count + 1) * a.count);
        for (; i < stop; ++i) {
          reinterpret_cast<Bits*>(a.dense)[i] = *reinterpret_cast<const Bits*>(element(a, row, i));
        }
      }
    });
  });
}

// body(place, value) for every index; rows do not meet, so threads share them.
template <class T, class Body>
void place(const AlongArgs& a, Body body) {
  parallel_for(0, a.rows, 8192 / (a.count + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      char* row = row_of(a, r);
      for (int64_t i = r * a.count; i < (r + 1) * a.count; ++i) {
        body(*reinterpret_cast<T*>(element(a, row, i)), reinterpret_cast<const T*>(a.dense)[i]);
      }
    }
  });
}

void scatter_cpu(const AlongArgs& a, DType dtype) {
  visit_bits(dtype, [&]<class Bits>() {
    place<Bits>(a, [](Bits& to, const Bits& from) { to = from; });
  });
}

void scatter_add_cpu(const AlongArgs& a, DType dtype) {
  const auto run = [&]<class T>() {
    using C = ComputeType<T>;
    place<T>(a, [](T& to, const T& from) {
      to = static_cast<T>(static_cast<C>(to) + static_cast<C>(from));
    });
  };
  if (is_integral(dtype)) {
    visit_integers(dtype, run);
  } else {
    visit_floating(dtype, run);
  }
}

void bincount_cpu(const int64_t* values, int64_t n, int64_t* out, int64_t length) {
  // Each part of the values has counts of its own where these are few beside the values.
  const int64_t parts = in_parallel_region() || length > n / 64 ? 1 : num_threads();
  const int64_t step = (n + parts - 1) / parts;
  Scratch scratch(static_cast<size_t>((parts - 1) * length) * sizeof(int64_t));
  int64_t* others = scratch.as<int64_t>();
  std::fill(others, others + (parts - 1) * length, 0);
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      int64_t* counts = part == 0 ? out : others + (part - 1) * length;
      for (int64_t i = part * step; i < std::min(n, (part + 1) * step); ++i) ++counts[values[i]];
    }
  });
  for (int64_t part = 1; part < parts; ++part) {
    for (int64_t v = 0; v < length; ++v) out[v] += others[(part - 1) * length + v];
  }
}

}  // namespace

ZOO_REGISTER_CPU(gather_kernel, &gather_cpu);
ZOO_REGISTER_CPU(scatter_kernel, &scatter_cpu);
ZOO_REGISTER_CPU(scatter_add_kernel, &scatter_add_cpu);
ZOO_REGISTER_CPU(bincount_kernel, &bincount_cpu);

}  // namespace zoo
