// Operations of language models. Tensors that may be left undefined are marked "or undefined".
#pragma once

#include <string>

#include "core/tensor.h"

namespace zoo {

// ---- attention.cpp -----------------------------------------------------------------------------
// softmax(q k^T * scale + mask) v without the matrix of scores, for float32 and narrower q (B, H, L,
// E), k (B, K, S, E) and v (B, K, S, V), H a multiple of K, none empty. mask: booleans (true: seen)
// or floats to add, broadcast to (B, H, L, S), without a gradient, or undefined.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                 double scale, bool causal);

}  // namespace zoo
