// What view operations share.
#pragma once

#include "autograd/node.h"
#include "ops/ops.h"

namespace zoo {

// Other shape and strides over t's storage; records nothing.
Tensor make_view(const Tensor& t, const Dims& shape, const Dims& strides, int64_t offset);

// The gradient of a view that shows part of its base: zeros of the base's shape, with `g` where
// `view(base)` looks. It is linear, and its own gradient is that view.
template <class View>
Tensor embed(const Tensor& g, const Dims& base_shape, View view) {
  Tensor out = zeros(base_shape, g.dtype(), g.device());
  {
    GradMode off(false);
    copy_(view(out), g);
  }
  if (needs_grad(g)) {
    record("embed", {g}, {out}, [view](Backward& bw) { bw.set(0, view(bw.grad())); });
  }
  return out;
}

}  // namespace zoo
