// Matrix products by cuBLASLt.
#pragma once

#include "kernels/gemm.h"

namespace zoo::cuda {

// Computes the product, or returns false where cuBLASLt is missing or takes no such layout.
bool multiply_by_cublaslt(DType dtype, const GemmArgs& g);

// Whether float32 products may round their operands to 10 bits of mantissa (TF32), which tensor
// cores multiply faster. Off at first.
void allow_tf32(bool allow);
bool tf32_allowed();

}  // namespace zoo::cuda
