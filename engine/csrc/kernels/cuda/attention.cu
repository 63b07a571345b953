// Scaled dot-product attention, forward: keys and values pass by in tiles, and the softmax is
// corrected as larger scores appear (Dao et al., arXiv:2205.14135).
#include "kernels/cuda/attention_tile.h"

namespace zoo {
namespace {

using cuda::kColumnsOf;
using cuda::kKeys;
using cuda::kQueries;
using cuda::kRowsOf;
using cuda::kScoreStride;

// Of the eight threads that share rows.
__device__ inline float largest_across(float v) {
  for (int step = cuda::kAcross / 2; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(cuda::kFullWarp, v, step);
    v = other > v ? other : v;
  }
  return v;
}
__device__ inline float sum_across(float v) {
  for (int step = cuda::kAcross / 2; step > 0; step /= 2) {
    v += __shfl_xor_sync(cuda::kFullWarp, v, step);
  }
  return v;
}

// Block x: a tile of queries, y: a head, z: a batch.
template <int kSums>
__global__ void attend(Attention a, HeadRows<float> out, float* log_sums) {
  ZOO_DYNAMIC_SHARED(float, shared);
  const int stride = static_cast<int>(a.width) + 1;
  const int value_stride = static_cast<int>(a.value_width) + 1;
  float* const q = shared;
  float* const k = q + kQueries * stride;
  float* const v = k + kKeys * stride;
  float* const weights = v + kKeys * value_stride;
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const cuda::AttentionThread t;
  const int64_t query = static_cast<int64_t>(blockIdx.x) * kQueries;
  const int64_t h = blockIdx.y, b = blockIdx.z, kv = h / a.group;
  cuda::load_tile(q, stride, a.q, b, h, query, a.queries, a.width);
  float sums[kRowsOf][kSums] = {}, top[kRowsOf], total[kRowsOf] = {};
  for (int i = 0; i < kRowsOf; ++i) top[i] = kLowest;
  const int64_t last = query + kQueries < a.queries ? query + kQueries : a.queries;
  const int64_t end = a.causal && last < a.keys ? last : a.keys;
  for (int64_t key = 0; key < end; key += kKeys) {
    __syncthreads();  // the tile before is still read
    cuda::load_tile(k, stride, a.k, b, kv, key, a.keys, a.width);
    cuda::load_tile(v, value_stride, a.v, b, kv, key, a.keys, a.value_width);
    __syncthreads();
    float scores[kRowsOf][kColumnsOf];
    cuda::dot_tiles(t, q, k, stride, a.width, scores);
    for (int i = 0; i < kRowsOf; ++i) {
      float best = top[i];
      for (int j = 0; j < kColumnsOf; ++j) {
        float& s = scores[i][j];
        s = cuda::score_of(a, b, h, query + t.row(i), key + t.column(j), s);
        best = s > best ? s : best;
      }
      best = largest_across(best);
      const float base = best == kLowest ? 0.0f : best;  // a query that has seen nothing yet
      const float shrink = expf(top[i] - base);          // of minus infinity: 0
      float part = 0;
      for (int j = 0; j < kColumnsOf; ++j) {
        const float e = expf(scores[i][j] - base);
        weights[t.row(i) * kScoreStride + t.column(j)] = e;
        part += e;
      }
      total[i] = total[i] * shrink + sum_across(part);
      top[i] = best;
      for (int j = 0; j < kSums; ++j) sums[i][j] *= shrink;
    }
    __syncthreads();
    cuda::add_weighted<false>(t, weights, v, value_stride, a.value_width, sums);
  }
  for (int i = 0; i < kRowsOf; ++i) {
    const int64_t row = query + t.row(i);
    if (row >= a.queries) continue;
    const float factor = total[i] == 0 ? 0.0f : 1.0f / total[i];
    float* const y = out.data + b * out.batch + h * out.head + row * out.row;
    for (int j = 0; j < kSums; ++j) {
      const int c = t.tx + j * cuda::kAcross;
      if (c < a.value_width) y[c] = sums[i][j] * factor;
    }
    // A blind query's is infinite: exp(score - it) then is 0 in the backward pass, as it must.
    if (log_sums != nullptr && t.tx == 0) {
      log_sums[(b * a.heads() + h) * a.queries + row] =
          total[i] == 0 ? std::numeric_limits<float>::infinity() : top[i] + logf(total[i]);
    }
  }
}

void attention(const Attention& a, HeadRows<float> out, float* log_sums) {
  if (a.batch == 0 || a.heads() == 0 || a.queries == 0) return;
  const int64_t stride = a.width + 1, value_stride = a.value_width + 1;
  const size_t shared = sizeof(float) * static_cast<size_t>(
      (kQueries + kKeys) * stride + kKeys * value_stride + kQueries * kScoreStride);
  const dim3 grid(static_cast<unsigned>((a.queries + kQueries - 1) / kQueries),
                  static_cast<unsigned>(a.heads()), static_cast<unsigned>(a.batch));
  cuda::with_head_width(a.width > a.value_width ? a.width : a.value_width, [&](auto sums) {
    constexpr int kSums = decltype(sums)::value;
    cuda::allow_shared(&attend<kSums>, shared);
      ZOO_LAUNCH((attend<kSums>), grid, dim3(cuda::kAttentionThreads), shared, a, out, log_sums);
  });
}

}  // namespace

ZOO_REGISTER_CUDA(attention_kernel, &attention);
ZOO_REGISTER_CUDA(attention_few_kernel, &attention);

}  // namespace zoo
