// Operations of language models. Tensors that may be left undefined are marked "or undefined".
#pragma once

#include "core/tensor.h"
#include "ops/nn_ops.h"

namespace zoo {

// ---- attention.cpp -----------------------------------------------------------------------------
// softmax(q k^T * scale + mask) v without the matrix of scores, for float32 and narrower q (B, H, L,
// E), k (B, K, S, E) and v (B, K, S, V), H a multiple of K, none empty. mask: booleans (true: seen)
// or floats to add, broadcast to (B, H, L, S), without a gradient, or undefined.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                 double scale, bool causal);
// The same for queries, keys and values that are the three parts of the rows of qkv (B, T, 3 * W);
// heads, which share W evenly, are joined again: (B, T, W). The gradient is one tensor, like qkv.
Tensor self_attention(const Tensor& qkv, int64_t heads, double scale, bool causal);

// ---- linear_cross_entropy.cpp ------------------------------------------------------------------
// cross_entropy(linear(x, weight), target) for x (..., D), weight (V, D) and target (...) of class
// numbers, reduced by "mean" or "sum", without the logits of all rows.
Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& target,
                            const CrossEntropyOptions& options);

// ---- quantized.cpp -----------------------------------------------------------------------------
// Weights (out, in) as codes: bfloat16 (out, in) without scales; int8 (out, in) with float32 scales
// (out,); or uint8 (out, in / 2), two int4 each, with bfloat16 scales (out, in / 32).
Tensor dequantize(const Tensor& codes, const Tensor& scales);  // float32
// x W^T + bias for float32 x (..., in); scales, bias or undefined. Codes have no gradient.
Tensor quantized_linear(const Tensor& x, const Tensor& codes, const Tensor& scales,
                        const Tensor& bias);

}  // namespace zoo
