// Reductions over any axes of a strided tensor.
#pragma once

#include "core/dispatch.h"
#include "core/tensor.h"

namespace zoo {

// The kept axes are walked in logical order and the output is contiguous in it; the reduced ones
// are merged and sorted, smallest step innermost. Strides are in bytes.
struct ReducePlan {
  const char* in = nullptr;
  int kept = 0;
  int64_t kept_shape[kMaxDims], kept_strides[kMaxDims];
  int64_t kept_numel = 1;
  int reduced = 0;
  int64_t reduced_shape[kMaxDims], reduced_strides[kMaxDims];
  int64_t reduced_numel = 1;
};

// Which axes of t are reduced; `reduce[i]` for axis i.
ReducePlan make_reduction(const Tensor& t, const bool* reduce);

using ReduceKernel = Kernel<void(const ReducePlan&, DType, void* out)>;
extern ReduceKernel sum_kernel;     // out: float64 for floating dtypes, int64 for the others
extern ReduceKernel prod_kernel;    // likewise
extern ReduceKernel max_kernel;     // out: the input's dtype
extern ReduceKernel min_kernel;
extern ReduceKernel any_kernel;     // out: bool
extern ReduceKernel all_kernel;
extern ReduceKernel argmax_kernel;  // out: int64, a position in the reduced axes' logical order
extern ReduceKernel argmin_kernel;

}  // namespace zoo
