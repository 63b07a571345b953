// Scans along one axis. A long row is cut into blocks of fixed size: their totals first, then each
// block from the total before it, so the number of threads never shows in a result.
#include "kernels/scan.h"

#include <algorithm>
#include <cmath>

#include "core/allocator.h"
#include "core/parallel.h"
#include "kernels/cpu/real_dtypes.h"

namespace zoo {
namespace {

constexpr int64_t kBlock = 65536;  // elements of a row that start from one partial result
constexpr int64_t kTile = 64;      // neighbouring columns scanned together

template <class T>
using Accumulator = std::conditional_t<std::is_floating_point_v<ComputeType<T>>, double, int64_t>;

template <class T>
struct Sum {
  using Acc = Accumulator<T>;
  static ZOO_INLINE Acc identity() { return 0; }
  static ZOO_INLINE Acc combine(Acc a, Acc b) {
    if constexpr (std::is_same_v<Acc, double>) return a + b;
    return static_cast<Acc>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};

template <class T>
struct Product {
  using Acc = Accumulator<T>;
  static ZOO_INLINE Acc identity() { return 1; }
  static ZOO_INLINE Acc combine(Acc a, Acc b) {
    if constexpr (std::is_same_v<Acc, double>) return a * b;
    return static_cast<Acc>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
};

template <class T, class Acc>
ZOO_INLINE Acc read(T x) { return static_cast<Acc>(static_cast<ComputeType<T>>(x)); }
template <class T, class Acc>
ZOO_INLINE T written(Acc x) { return static_cast<T>(static_cast<ComputeType<T>>(x)); }

// body(outer, first column, columns): every column of every outer slice, in tiles.
template <class Body>
void for_columns(const ScanArgs& a, Body body) {
  const int64_t tiles = (a.inner + kTile - 1) / kTile;
  const int64_t width = std::min(kTile, a.inner);
  parallel_for(0, a.outer * tiles, 16384 / (a.n * width + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % tiles * kTile;
      body(i / tiles, first, std::min(kTile, a.inner - first));
    }
  });
}

// One row of n neighbours, in blocks.
template <class T, template <class> class Op>
void scan_row(const T* x, T* y, int64_t n) {
  using Acc = typename Op<T>::Acc;
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  const auto run = [&](int64_t block, Acc total) {
    for (int64_t i = block * kBlock; i < std::min(n, (block + 1) * kBlock); ++i) {
      total = Op<T>::combine(total, read<T, Acc>(x[i]));
      y[i] = written<T>(total);
    }
  };
  if (blocks <= 1) return run(0, Op<T>::identity());
  Scratch scratch(static_cast<size_t>(blocks) * sizeof(Acc));
  Acc* totals = scratch.as<Acc>();
  parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      Acc total = Op<T>::identity();
      for (int64_t i = b * kBlock; i < std::min(n, (b + 1) * kBlock); ++i) {
        total = Op<T>::combine(total, read<T, Acc>(x[i]));
      }
      totals[b] = total;
    }
  });
  Acc before = Op<T>::identity();
  for (int64_t b = 0; b < blocks; ++b) {
    const Acc next = Op<T>::combine(before, totals[b]);
    totals[b] = before;
    before = next;
  }
  parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) run(b, totals[b]);
  });
}

template <template <class> class Op>
void scan_cpu(const ScanArgs& a, DType dtype) {
  visit_real(dtype, [&]<class T>() {
    using Acc = typename Op<T>::Acc;
    const T* in = static_cast<const T*>(a.in);
    T* out = static_cast<T*>(a.out);
    if (a.inner == 1) {
      const auto rows = [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) scan_row<T, Op>(in + r * a.n, out + r * a.n, a.n);
      };
      if (a.n > kBlock) return rows(0, a.outer);  // the threads share each row
      return parallel_for(0, a.outer, 16384 / (a.n + 1) + 1, rows);
    }
    for_columns(a, [&](int64_t outer, int64_t first, int64_t columns) {
      Acc total[kTile];
      for (int64_t j = 0; j < columns; ++j) total[j] = Op<T>::identity();
      for (int64_t i = 0; i < a.n; ++i) {
        const int64_t at = (outer * a.n + i) * a.inner + first;
        for (int64_t j = 0; j < columns; ++j) {
          total[j] = Op<T>::combine(total[j], read<T, Acc>(in[at + j]));
          out[at + j] = written<T>(total[j]);
        }
      }
    });
  });
}

template <bool kMax>
void extreme_cpu(const ScanArgs& a, DType dtype) {
  visit_real(dtype, [&]<class T>() {
    using C = ComputeType<T>;
    const T* in = static_cast<const T*>(a.in);
    T* out = static_cast<T*>(a.out);
    for_columns(a, [&](int64_t outer, int64_t first, int64_t columns) {
      C best[kTile];
      int64_t position[kTile];
      for (int64_t i = 0; i < a.n; ++i) {
        const int64_t at = (outer * a.n + i) * a.inner + first;
        for (int64_t j = 0; j < columns; ++j) {
          const C x = static_cast<C>(in[at + j]);
          if (i == 0 || x != x || (best[j] == best[j] && (kMax ? x >= best[j] : x <= best[j]))) {
            best[j] = x;
            position[j] = i;
          }
          out[at + j] = static_cast<T>(best[j]);
          a.indices[at + j] = position[j];
        }
      }
    });
  });
}

// log(sum of exp): the largest element so far, and the sum relative to it.
void logcumsumexp_cpu(const ScanArgs& a, DType dtype) {
  visit_floating(dtype, [&]<class T>() {
    const T* in = static_cast<const T*>(a.in);
    T* out = static_cast<T*>(a.out);
    for_columns(a, [&](int64_t outer, int64_t first, int64_t columns) {
      for (int64_t j = 0; j < columns; ++j) {
        double top = -std::numeric_limits<double>::infinity(), sum = 0;
        for (int64_t i = 0; i < a.n; ++i) {
          const int64_t at = (outer * a.n + i) * a.inner + first + j;
          const double x = read<T, double>(in[at]);
          if (x != x || top != top) {
            top = std::numeric_limits<double>::quiet_NaN();
          } else if (x == top) {
            sum += std::isinf(x) && x < 0 ? 0 : 1;
          } else if (x < top) {
            sum += std::exp(x - top);
          } else {
            sum = sum * std::exp(top - x) + 1;
            top = x;
          }
          out[at] = written<T>(sum == 1 ? top : top + std::log(sum));
        }
      }
    });
  });
}

void linear_scan_cpu(const ScanArgs& a, DType dtype) {
  visit_floating(dtype, [&]<class T>() {
    const T* in = static_cast<const T*>(a.in);
    const T* factor = static_cast<const T*>(a.factor);
    T* out = static_cast<T*>(a.out);
    for_columns(a, [&](int64_t outer, int64_t first, int64_t columns) {
      double state[kTile] = {};
      for (int64_t i = 0; i < a.n; ++i) {
        const int64_t at = (outer * a.n + i) * a.inner + first;
        for (int64_t j = 0; j < columns; ++j) {
          const double x = read<T, double>(in[at + j]);
          state[j] = i == 0 ? x : read<T, double>(factor[at + j]) * state[j] + x;
          out[at + j] = written<T>(state[j]);
        }
      }
    });
  });
}

}  // namespace

ZOO_REGISTER_CPU(cumsum_kernel, &scan_cpu<Sum>);
ZOO_REGISTER_CPU(cumprod_kernel, &scan_cpu<Product>);
ZOO_REGISTER_CPU(cummax_kernel, &extreme_cpu<true>);
ZOO_REGISTER_CPU(cummin_kernel, &extreme_cpu<false>);
ZOO_REGISTER_CPU(logcumsumexp_kernel, &logcumsumexp_cpu);
ZOO_REGISTER_CPU(linear_scan_kernel, &linear_scan_cpu);

}  // namespace zoo
