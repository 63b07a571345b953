// The three things the tape itself computes. Declared here because autograd may not include ops;
// defined in ops/arithmetic.cpp.
#pragma once

#include "core/tensor.h"

namespace zoo {

Tensor zeros_for_gradient(const Dims& shape, DType dtype);
Tensor ones_for_gradient(const Tensor& root);
// a + b; into a's memory if `own_a` says that nobody else sees it and no graph is recorded.
Tensor sum_gradients(const Tensor& a, const Tensor& b, bool own_a);
Tensor copy_gradient(const Tensor& g);

}  // namespace zoo
