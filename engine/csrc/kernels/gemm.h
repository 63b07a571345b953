// Matrix products.
#pragma once

#include <cstdint>

#include "core/dispatch.h"
#include "core/dtype.h"

namespace zoo {

// C[m, n] = A[m, k] B[k, n] (+ bias[n]) (+ C when accumulating), then ReLU if asked; `batch`
// independent products. Strides count elements; any stride is accepted for A and B, C's columns
// are contiguous. float32 and float64; on GPUs float16 and bfloat16 too, summed in float32.
struct GemmArgs {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  const void* a = nullptr;
  int64_t a_row = 0, a_col = 0, a_batch = 0;
  const void* b = nullptr;
  int64_t b_row = 0, b_col = 0, b_batch = 0;
  void* c = nullptr;
  int64_t c_row = 0, c_batch = 0;
  const void* bias = nullptr;  // n values, or null
  bool accumulate = false;
  bool relu = false;
};

extern Kernel<void(DType, const GemmArgs&)> gemm_kernel;

}  // namespace zoo
