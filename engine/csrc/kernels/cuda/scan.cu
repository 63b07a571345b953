// Scans along one axis. Rows of neighbours are scanned by a block each, a tile of its threads' width
// after the other; everything else by a thread each.
#include "kernels/scan.h"

#include <cmath>
#include <limits>

#include "kernels/cuda/block.h"
#include "kernels/cuda/elements.h"

namespace zoo::cuda {
namespace {

// As sums of the CPU: float64, or 64-bit integers that wrap.
template <class C>
using Accumulator = std::conditional_t<std::is_floating_point_v<C>, double, uint64_t>;

template <class C>
struct RunningSum {
  using Acc = Accumulator<C>;
  __device__ static Acc identity() { return 0; }
  __device__ static Acc combine(Acc a, Acc b) { return a + b; }
};
template <class C>
struct RunningProduct {
  using Acc = Accumulator<C>;
  __device__ static Acc identity() { return 1; }
  __device__ static Acc combine(Acc a, Acc b) { return a * b; }
};

struct Operands {
  const char* in;
  const char* factor;
  char* out;
  int64_t* indices;
  int64_t outer, n, inner, size;
};
Operands operands_of(const ScanArgs& a, DType dtype) {
  return {static_cast<const char*>(a.in), static_cast<const char*>(a.factor),
          static_cast<char*>(a.out),      a.indices,
          a.outer,                        a.n,
          a.inner,                        itemsize(dtype)};
}

template <class C, template <class> class Op>
__global__ void __launch_bounds__(kThreads) scan_rows(Operands a, DType dtype) {
  using Acc = typename Op<C>::Acc;
  for (int64_t row = blockIdx.x; row < a.outer; row += gridDim.x) {
    Acc carried = Op<C>::identity();
    for (int64_t begin = 0; begin < a.n; begin += blockDim.x) {
      const int64_t i = begin + threadIdx.x, at = (row * a.n + i) * a.size;
      const bool inside = i < a.n;
      const Acc own = inside ? static_cast<Acc>(read_element<C>(a.in + at, dtype))
                             : Op<C>::identity();
      Acc total;
      const Acc here = Op<C>::combine(carried, scan_block<Op<C>>(own, total));
      if (inside) write_element(a.out + at, dtype, static_cast<C>(here));
      carried = Op<C>::combine(carried, total);
    }
  }
}

// Body(i, where element i of the column lies) for each element of a column, in order.
template <class Body>
__device__ inline void along_column(const Operands& a, int64_t column, Body body) {
  const int64_t first = column / a.inner * a.n * a.inner + column % a.inner;
  for (int64_t i = 0; i < a.n; ++i) body(i, first + i * a.inner);
}

template <class C, template <class> class Op>
__global__ void __launch_bounds__(kThreads) scan_columns(Operands a, DType dtype) {
  using Acc = typename Op<C>::Acc;
  for (int64_t c = thread_index(); c < a.outer * a.inner; c += thread_count()) {
    Acc total = Op<C>::identity();
    along_column(a, c, [&](int64_t, int64_t at) {
      total = Op<C>::combine(total, static_cast<Acc>(read_element<C>(a.in + at * a.size, dtype)));
      write_element(a.out + at * a.size, dtype, static_cast<C>(total));
    });
  }
}

template <template <class> class Op>
void scan_cuda(const ScanArgs& args, DType dtype) {
  const Operands a = operands_of(args, dtype);
  visit_arithmetic(dtype, [&]<class C>() {
    if (a.inner == 1) {
      ZOO_LAUNCH((scan_rows<C, Op>), blocks_for(a.outer, 1), a.n <= kWarp ? kWarp : kThreads, 0, a,
                 dtype);
    } else {
      ZOO_LAUNCH((scan_columns<C, Op>), blocks_for(a.outer * a.inner), kThreads, 0, a, dtype);
    }
  });
}

template <bool kMax, class C>
__global__ void __launch_bounds__(kThreads) extreme_columns(Operands a, DType dtype) {
  for (int64_t c = thread_index(); c < a.outer * a.inner; c += thread_count()) {
    C best{};
    int64_t position = 0;
    along_column(a, c, [&](int64_t i, int64_t at) {
      const C x = read_element<C>(a.in + at * a.size, dtype);
      if (i == 0 || x != x || (best == best && (kMax ? x >= best : x <= best))) {
        best = x;
        position = i;
      }
      write_element(a.out + at * a.size, dtype, best);
      a.indices[at] = position;
    });
  }
}

template <bool kMax>
void extreme_cuda(const ScanArgs& args, DType dtype) {
  const Operands a = operands_of(args, dtype);
  visit_arithmetic(dtype, [&]<class C>() {
    ZOO_LAUNCH((extreme_columns<kMax, C>), blocks_for(a.outer * a.inner), kThreads, 0, a, dtype);
  });
}

// log(sum of exp): the largest element so far, and the sum relative to it.
template <class C>
__global__ void __launch_bounds__(kThreads) logcumsumexp_columns(Operands a, DType dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (int64_t c = thread_index(); c < a.outer * a.inner; c += thread_count()) {
    double top = -kInfinity, sum = 0;
    along_column(a, c, [&](int64_t, int64_t at) {
      const double x = static_cast<double>(read_element<C>(a.in + at * a.size, dtype));
      if (x != x || top != top) {
        top = std::numeric_limits<double>::quiet_NaN();
      } else if (x == top) {
        sum += x == -kInfinity ? 0 : 1;
      } else if (x < top) {
        sum += std::exp(x - top);
      } else {
        sum = sum * std::exp(top - x) + 1;
        top = x;
      }
      write_element(a.out + at * a.size, dtype,
                    static_cast<C>(sum == 1 ? top : top + std::log(sum)));
    });
  }
}

void logcumsumexp_cuda(const ScanArgs& args, DType dtype) {
  const Operands a = operands_of(args, dtype);
  visit_floating_arithmetic(dtype, [&]<class C>() {
    ZOO_LAUNCH(logcumsumexp_columns<C>, blocks_for(a.outer * a.inner), kThreads, 0, a, dtype);
  });
}

template <class C>
__global__ void __launch_bounds__(kThreads) linear_columns(Operands a, DType dtype) {
  for (int64_t c = thread_index(); c < a.outer * a.inner; c += thread_count()) {
    double state = 0;
    along_column(a, c, [&](int64_t i, int64_t at) {
      const double x = static_cast<double>(read_element<C>(a.in + at * a.size, dtype));
      const double factor = static_cast<double>(read_element<C>(a.factor + at * a.size, dtype));
      state = i == 0 ? x : factor * state + x;
      write_element(a.out + at * a.size, dtype, static_cast<C>(state));
    });
  }
}

void linear_scan_cuda(const ScanArgs& args, DType dtype) {
  const Operands a = operands_of(args, dtype);
  visit_floating_arithmetic(dtype, [&]<class C>() {
    ZOO_LAUNCH(linear_columns<C>, blocks_for(a.outer * a.inner), kThreads, 0, a, dtype);
  });
}

}  // namespace
}  // namespace zoo::cuda

ZOO_REGISTER_CUDA(cumsum_kernel, &zoo::cuda::scan_cuda<zoo::cuda::RunningSum>);
ZOO_REGISTER_CUDA(cumprod_kernel, &zoo::cuda::scan_cuda<zoo::cuda::RunningProduct>);
ZOO_REGISTER_CUDA(cummax_kernel, &zoo::cuda::extreme_cuda<true>);
ZOO_REGISTER_CUDA(cummin_kernel, &zoo::cuda::extreme_cuda<false>);
ZOO_REGISTER_CUDA(logcumsumexp_kernel, &zoo::cuda::logcumsumexp_cuda);
ZOO_REGISTER_CUDA(linear_scan_kernel, &zoo::cuda::linear_scan_cuda);
