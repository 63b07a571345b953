// Reductions. Pieces of fixed size are reduced each by one block (or one thread, where neighbours in
// memory belong to different results) and combined in order: the same bits from run to run, on any
// device.
#include "kernels/reduce.h"

#include "kernels/cpu/reduce_ops.h"
#include "kernels/cuda/block.h"
#include "kernels/cuda/elements.h"

namespace zoo::cuda {
namespace {

constexpr int64_t kRowPiece = 32768;   // elements of one result that one block reduces
constexpr int64_t kColumnPiece = 512;  // that one thread reduces
constexpr int64_t kManyResults = 65536;
constexpr int64_t kFewElements = 16;   // a thread reduces them alone, wherever they lie

__device__ inline int64_t offset_of(int64_t i, int n, const int64_t* shape, const int64_t* strides) {
  int64_t offset = 0;
  for (int d = 0; d < n; ++d) {
    offset += i % shape[d] * strides[d];
    i /= shape[d];
  }
  return offset;
}
__device__ inline const char* result_base(const ReducePlan& p, int64_t k) {
  return p.in + offset_of(k, p.kept, p.kept_shape, p.kept_strides);
}
__device__ inline int64_t element_offset(const ReducePlan& p, int64_t r) {
  if (p.reduced == 1) return r * p.reduced_strides[0];
  return offset_of(r, p.reduced, p.reduced_shape, p.reduced_strides);
}

template <class Op>
__device__ inline typename Op::Acc load(const ReducePlan& p, const char* base, int64_t r,
                                        DType dtype) {
  return Op::load(read_element<typename Op::In>(base + element_offset(p, r), dtype));
}

// partial[piece * results + k], a block each.
template <class Op>
__global__ void __launch_bounds__(kThreads)
    reduce_rows(const __grid_constant__ ReducePlan p, DType dtype, int64_t piece, int64_t pieces,
                typename Op::Acc* partial) {
  for (int64_t b = blockIdx.x; b < p.kept_numel * pieces; b += gridDim.x) {
    const int64_t k = b % p.kept_numel, begin = b / p.kept_numel * piece;
    const int64_t end = begin + piece < p.reduced_numel ? begin + piece : p.reduced_numel;
    const char* base = result_base(p, k);
    typename Op::Acc total = Op::identity();
    for (int64_t r = begin + threadIdx.x; r < end; r += blockDim.x) {
      total = Op::combine(total, load<Op>(p, base, r, dtype));
    }
    total = reduce_block<Op>(total);
    if (threadIdx.x == 0) partial[b] = total;
  }
}

// The same, a thread each.
template <class Op>
__global__ void __launch_bounds__(kThreads)
    reduce_columns(const __grid_constant__ ReducePlan p, DType dtype, int64_t piece, int64_t pieces,
                   typename Op::Acc* partial) {
  for (int64_t i = thread_index(); i < p.kept_numel * pieces; i += thread_count()) {
    const int64_t k = i % p.kept_numel, begin = i / p.kept_numel * piece;
    const int64_t end = begin + piece < p.reduced_numel ? begin + piece : p.reduced_numel;
    const char* base = result_base(p, k);
    typename Op::Acc total = Op::identity();
    for (int64_t r = begin; r < end; ++r) total = Op::combine(total, load<Op>(p, base, r, dtype));
    partial[i] = total;
  }
}

// A sum stays as wide as it was added up; an extreme has the dtype of its elements.
template <class Op>
__global__ void __launch_bounds__(kThreads)
    combine_pieces(const typename Op::Acc* partial, int64_t results, int64_t pieces, void* out,
                   DType dtype) {
  for (int64_t k = thread_index(); k < results; k += thread_count()) {
    typename Op::Acc total = Op::identity();
    for (int64_t i = 0; i < pieces; ++i) total = Op::combine(total, partial[i * results + k]);
    write_element(static_cast<char*>(out) + k * itemsize(dtype), dtype, total);
  }
}

template <class Op>
void reduce(const ReducePlan& p, DType dtype, DType out_dtype, void* out) {
  if (p.kept_numel == 0) return;
  const bool across = p.kept > 0 && p.kept_strides[0] == itemsize(dtype) &&
                      (p.reduced == 0 || p.reduced_strides[0] != itemsize(dtype));
  const bool columns = across || p.reduced_numel <= kFewElements;
  const bool whole = columns && p.kept_numel >= kManyResults;
  const int64_t piece = whole ? std::max<int64_t>(1, p.reduced_numel)
                              : columns ? kColumnPiece : kRowPiece;
  const int64_t pieces = std::max<int64_t>(1, (p.reduced_numel + piece - 1) / piece);
  DeviceScratch scratch(static_cast<size_t>(p.kept_numel * pieces) * sizeof(typename Op::Acc));
  auto* partial = scratch.as<typename Op::Acc>();
  if (columns) {
    ZOO_LAUNCH(reduce_columns<Op>, blocks_for(p.kept_numel * pieces), kThreads, 0, p, dtype, piece,
               pieces, partial);
  } else {
    const int threads = p.reduced_numel <= 8 * kWarp ? kWarp : kThreads;
    ZOO_LAUNCH(reduce_rows<Op>, blocks_for(p.kept_numel * pieces, 1), threads, 0, p, dtype, piece,
               pieces, partial);
  }
  ZOO_LAUNCH(combine_pieces<Op>, blocks_for(p.kept_numel), kThreads, 0, partial, p.kept_numel, pieces,
             out, out_dtype);
}

template <template <class> class Op, bool kWidens>
void reduce_cuda(const ReducePlan& p, DType dtype, void* out) {
  visit_arithmetic(dtype, [&]<class C>() {
    using Acc = typename Op<C>::Acc;
    reduce<Op<C>>(p, dtype, kWidens ? dtype_of<Acc> : dtype, out);
  });
}

// ---- where the extreme is ------------------------------------------------------------------------

// Whether element b comes before element a: NaN first, then the better one, then the earlier one.
template <bool kMax, class C>
__device__ inline bool before(C b, int64_t b_at, C a, int64_t a_at) {
  if (b_at < 0 || a_at < 0) return a_at < 0 && b_at >= 0;
  const bool a_nan = a != a, b_nan = b != b;
  if (a_nan || b_nan) return b_nan && (!a_nan || b_at < a_at);
  if (a == b) return b_at < a_at;
  return kMax ? b > a : b < a;
}

template <bool kMax, class C>
__global__ void __launch_bounds__(kThreads)
    arg_reduce(const __grid_constant__ ReducePlan p, DType dtype, int64_t* out) {
  __shared__ C values[kThreads];
  __shared__ int64_t positions[kThreads];
  const int me = static_cast<int>(threadIdx.x);
  for (int64_t k = blockIdx.x; k < p.kept_numel; k += gridDim.x) {
    const char* base = result_base(p, k);
    C best{};
    int64_t at_best = -1;
    for (int64_t r = me; r < p.reduced_numel; r += blockDim.x) {
      const C v = read_element<C>(base + element_offset(p, r), dtype);
      if (before<kMax>(v, r, best, at_best)) {
        best = v;
        at_best = r;
      }
    }
    __syncthreads();  // the result before this one may still be read
    values[me] = best;
    positions[me] = at_best;
    __syncthreads();
    for (int half = static_cast<int>(blockDim.x) / 2; half > 0; half /= 2) {
      if (me < half &&
          before<kMax>(values[me + half], positions[me + half], values[me], positions[me])) {
        values[me] = values[me + half];
        positions[me] = positions[me + half];
      }
      __syncthreads();
    }
    if (me == 0) out[k] = positions[0];
  }
}

template <bool kMax>
void arg_reduce_cuda(const ReducePlan& p, DType dtype, void* out) {
  if (p.kept_numel == 0) return;
  const int threads = p.reduced_numel <= 8 * kWarp ? kWarp : kThreads;
  visit_arithmetic(dtype, [&]<class C>() {
    ZOO_LAUNCH((arg_reduce<kMax, C>), blocks_for(p.kept_numel, 1), threads, 0, p, dtype,
               static_cast<int64_t*>(out));
  });
}

}  // namespace
}  // namespace zoo::cuda

ZOO_REGISTER_CUDA(sum_kernel, (&zoo::cuda::reduce_cuda<zoo::SumOp, true>));
ZOO_REGISTER_CUDA(prod_kernel, (&zoo::cuda::reduce_cuda<zoo::ProdOp, true>));
ZOO_REGISTER_CUDA(max_kernel, (&zoo::cuda::reduce_cuda<zoo::MaxOp, false>));
ZOO_REGISTER_CUDA(min_kernel, (&zoo::cuda::reduce_cuda<zoo::MinOp, false>));
ZOO_REGISTER_CUDA(any_kernel, (&zoo::cuda::reduce_cuda<zoo::AnyOp, true>));
ZOO_REGISTER_CUDA(all_kernel, (&zoo::cuda::reduce_cuda<zoo::AllOp, true>));
ZOO_REGISTER_CUDA(argmax_kernel, &zoo::cuda::arg_reduce_cuda<true>);
ZOO_REGISTER_CUDA(argmin_kernel, &zoo::cuda::arg_reduce_cuda<false>);
