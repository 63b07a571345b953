// Softmax along contiguous rows. float32 and float64.
#pragma once

#include "kernels/norm.h"

namespace zoo {

// y = exp(x) / sum exp(x), or its logarithm.
extern Kernel<void(DType, RowShape, const void* x, void* y, bool log)> softmax_kernel;
// From the gradient of y and y itself.
extern Kernel<void(DType, RowShape, const void* grad, const void* y, void* grad_x, bool log)>
    softmax_grad_kernel;

}  // namespace zoo
