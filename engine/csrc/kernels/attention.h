// Scaled dot-product attention that never writes the matrix of scores.
#pragma once

#include <cstdint>

#include "core/dispatch.h"
#include "core/host_device.h"

namespace zoo {

// A float32 tensor (batch, heads, rows, width) of any strides but the last, which is 1.
template <class T>
struct HeadRows {
  T* data = nullptr;
  int64_t batch = 0, head = 0, row = 0;  // strides, in elements

  [[gnu::always_inline]] T* at(int64_t b, int64_t h, int64_t r) const {
    return data + b * batch + h * head + r * row;
  }
};

// out = softmax(q k^T * scale + mask) v, Vaswani et al., arXiv:1706.03762. `group` heads of the
// query follow each other for each head of key and value. A query that may look nowhere gets 0.
struct Attention {
  int64_t batch, kv_heads, group;
  int64_t queries, keys;
  int64_t width, value_width;
  float scale;
  bool causal;  // query i sees keys 0 to i
  HeadRows<const float> q, k, v;
  // Booleans (true: seen) or floats to add, or null; strides of (batch, heads, queries, keys).
  const void* mask = nullptr;
  bool mask_is_bool = false;
  int64_t mask_stride[4] = {0, 0, 0, 0};

  ZOO_HOST_DEVICE int64_t heads() const { return kv_heads * group; }
};

// Queries that are few enough to go past keys and values as they lie in memory, which are then
// read once: decoding.
inline constexpr int64_t kFewQueries = 8;

// log_sums, or null: log sum exp of each query's scores, (batch, heads, queries).
extern Kernel<void(const Attention&, HeadRows<float> out, float* log_sums)> attention_kernel;
// For group * queries <= kFewQueries.
extern Kernel<void(const Attention&, HeadRows<float> out, float* log_sums)> attention_few_kernel;

struct AttentionGrad {
  HeadRows<const float> grad, out;  // of the result, and the result
  const float* log_sums;
  HeadRows<float> grad_q, grad_k, grad_v;
};
extern Kernel<void(const Attention&, const AttentionGrad&)> attention_grad_kernel;

}  // namespace zoo
