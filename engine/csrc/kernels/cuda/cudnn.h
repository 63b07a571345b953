// Convolutions by cuDNN. Each function computes its result, or returns false where cuDNN is missing
// or knows no way for the shape that gives the same bits from run to run.
#pragma once

#include "kernels/conv.h"

namespace zoo::cuda {

bool convolve_by_cudnn(DType dtype, const Conv2dShape& s, const void* x, const void* weight,
                       const Conv2dEpilogue& e, void* y);
bool input_gradient_by_cudnn(DType dtype, const Conv2dShape& s, const void* grad_y,
                             const void* weight, void* grad_x);
bool weight_gradient_by_cudnn(DType dtype, const Conv2dShape& s, const void* x, const void* grad_y,
                              void* grad_weight);

}  // namespace zoo::cuda
