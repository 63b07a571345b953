// What the tape itself computes. Declared here because autograd may not include ops; defined in
// ops/arithmetic.cpp and ops/tape.cpp.
#pragma once

#include "core/tensor.h"

namespace zoo {

Tensor zeros_for_gradient(const Dims& shape, DType dtype, Device device);
Tensor ones_for_gradient(const Tensor& root);
// a + b; into a's memory if `own_a` says that nobody else sees it and no graph is recorded.
Tensor sum_gradients(const Tensor& a, const Tensor& b, bool own_a);
Tensor copy_gradient(const Tensor& g);
// "2 of 6 elements are not finite, the first, nan, at (0, 1)", or nothing if all are finite.
std::string not_finite(const Tensor& t);
// The same values with these strides, dense for their shape.
Tensor with_strides(const Tensor& t, const Dims& strides);
// After a recorded in-place change of `view`: its base comes from what it was and from the view.
void rebase(const Tensor& view);
// A view whose base was changed after it: its grad_fn becomes "that part of the base as it is now".
void refresh_view(TensorImpl& view);

}  // namespace zoo
