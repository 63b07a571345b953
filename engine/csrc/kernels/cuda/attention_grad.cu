// Attention, backward: scores are computed again, tile by tile (Dao et al., arXiv:2205.14135). One
// kernel walks past queries for a tile of keys, one past keys for a tile of queries: each gradient
// has one writer, and sums have a fixed order. With P the weights, S the scores before the scale
// and o the result,
//   dV = P^T do,  dP = do V^T,  dS = scale P (dP - rowsum(do o)),  dQ = dS K,  dK = dS^T Q.
#include "kernels/cuda/attention_tile.h"

namespace zoo {
namespace {

using cuda::kColumnsOf;
using cuda::kKeys;
using cuda::kQueries;
using cuda::kRowsOf;
using cuda::kScoreStride;

// rowsum(do o), (batch, heads, queries); one thread a row.
__global__ void dots_of_rows(Attention a, AttentionGrad g, float* dots) {
  const int64_t i = cuda::thread_index();
  if (i >= a.batch * a.heads() * a.queries) return;
  const int64_t r = i % a.queries, h = i / a.queries % a.heads(), b = i / a.queries / a.heads();
  const float* x = g.grad.data + b * g.grad.batch + h * g.grad.head + r * g.grad.row;
  const float* y = g.out.data + b * g.out.batch + h * g.out.head + r * g.out.row;
  double sum = 0;
  for (int64_t c = 0; c < a.value_width; ++c) sum += static_cast<double>(x[c]) * y[c];
  dots[i] = static_cast<float>(sum);
}

// The tiles of one square of scores, in shared memory.
struct Tiles {
  float *q, *k, *v, *grad, *weights, *grads;
  int stride, value_stride;

  __device__ Tiles(const Attention& a, float* shared)
      : stride(static_cast<int>(a.width) + 1), value_stride(static_cast<int>(a.value_width) + 1) {
    q = shared;
    k = q + kQueries * stride;
    v = k + kKeys * stride;
    grad = v + kKeys * value_stride;
    weights = grad + kQueries * value_stride;
    grads = weights + kQueries * kScoreStride;
  }
};

size_t shared_bytes(const Attention& a) {
  return sizeof(float) * static_cast<size_t>((kQueries + kKeys) * (a.width + 1) +
                                             (kQueries + kKeys) * (a.value_width + 1) +
                                             2 * kQueries * kScoreStride);
}

// Weights and gradients of scores of a square whose tiles are loaded, into shared memory.
__device__ inline void fill_square(const Attention& a, const AttentionGrad& g, const float* dots,
                                   const Tiles& tiles, const cuda::AttentionThread& t, int64_t b,
                                   int64_t h, int64_t query, int64_t key) {
  float scores[kRowsOf][kColumnsOf], by_weight[kRowsOf][kColumnsOf];
  cuda::dot_tiles(t, tiles.q, tiles.k, tiles.stride, a.width, scores);
  cuda::dot_tiles(t, tiles.grad, tiles.v, tiles.value_stride, a.value_width, by_weight);
  for (int i = 0; i < kRowsOf; ++i) {
    const int64_t row = query + t.row(i);
    const int64_t at = (b * a.heads() + h) * a.queries + row;
    const float log_sum = row < a.queries ? g.log_sums[at] : 0.0f;
    const float dot = row < a.queries ? dots[at] : 0.0f;
    for (int j = 0; j < kColumnsOf; ++j) {
      const float s = cuda::score_of(a, b, h, row, key + t.column(j), scores[i][j]);
      const float p = expf(s - log_sum);  // of minus infinity: 0
      const int place = t.row(i) * kScoreStride + t.column(j);
      tiles.weights[place] = p;
      tiles.grads[place] = p * (by_weight[i][j] - dot) * a.scale;
    }
  }
}

template <int kSums>
__device__ void store_rows(const HeadRows<float>& to, const cuda::AttentionThread& t, int64_t b,
                           int64_t h, int64_t first, int64_t rows, int64_t width,
                           const float (&sums)[kRowsOf][kSums]) {
  for (int i = 0; i < kRowsOf; ++i) {
    const int64_t row = first + t.row(i);
    if (row >= rows) continue;
    float* const y = to.data + b * to.batch + h * to.head + row * to.row;
    for (int j = 0; j < kSums; ++j) {
      const int c = t.tx + j * cuda::kAcross;
      if (c < width) y[c] = sums[i][j];
    }
  }
}

// Block x: a tile of keys, y: a head of keys, z: a batch.
template <int kSums>
__global__ void grads_of_keys(Attention a, AttentionGrad g, const float* dots) {
  ZOO_DYNAMIC_SHARED(float, shared);
  const Tiles tiles(a, shared);
  const cuda::AttentionThread t;
  const int64_t key = static_cast<int64_t>(blockIdx.x) * kKeys;
  const int64_t kv = blockIdx.y, b = blockIdx.z;
  cuda::load_tile(tiles.k, tiles.stride, a.k, b, kv, key, a.keys, a.width);
  cuda::load_tile(tiles.v, tiles.value_stride, a.v, b, kv, key, a.keys, a.value_width);
  float grad_k[kRowsOf][kSums] = {}, grad_v[kRowsOf][kSums] = {};
  for (int64_t h = kv * a.group; h < (kv + 1) * a.group; ++h) {
    // Under the causal rule the queries before the tile of keys see none of it.
    for (int64_t query = a.causal ? key / kQueries * kQueries : 0; query < a.queries;
         query += kQueries) {
      __syncthreads();
      cuda::load_tile(tiles.q, tiles.stride, a.q, b, h, query, a.queries, a.width);
      cuda::load_tile(tiles.grad, tiles.value_stride, g.grad, b, h, query, a.queries,
                      a.value_width);
      __syncthreads();
      fill_square(a, g, dots, tiles, t, b, h, query, key);
      __syncthreads();
      cuda::add_weighted<true>(t, tiles.weights, tiles.grad, tiles.value_stride, a.value_width,
                               grad_v);
      cuda::add_weighted<true>(t, tiles.grads, tiles.q, tiles.stride, a.width, grad_k);
    }
  }
  store_rows(g.grad_k, t, b, kv, key, a.keys, a.width, grad_k);
  store_rows(g.grad_v, t, b, kv, key, a.keys, a.value_width, grad_v);
}

// Block x: a tile of queries, y: a head, z: a batch.
template <int kSums>
__global__ void grads_of_queries(Attention a, AttentionGrad g, const float* dots) {
  ZOO_DYNAMIC_SHARED(float, shared);
  const Tiles tiles(a, shared);
  const cuda::AttentionThread t;
  const int64_t query = static_cast<int64_t>(blockIdx.x) * kQueries;
  const int64_t h = blockIdx.y, b = blockIdx.z, kv = h / a.group;
  cuda::load_tile(tiles.q, tiles.stride, a.q, b, h, query, a.queries, a.width);
  cuda::load_tile(tiles.grad, tiles.value_stride, g.grad, b, h, query, a.queries, a.value_width);
  float grad_q[kRowsOf][kSums] = {};
  const int64_t last = query + kQueries < a.queries ? query + kQueries : a.queries;
  const int64_t end = a.causal && last < a.keys ? last : a.keys;
  for (int64_t key = 0; key < end; key += kKeys) {
    __syncthreads();
    cuda::load_tile(tiles.k, tiles.stride, a.k, b, kv, key, a.keys, a.width);
    cuda::load_tile(tiles.v, tiles.value_stride, a.v, b, kv, key, a.keys, a.value_width);
    __syncthreads();
    fill_square(a, g, dots, tiles, t, b, h, query, key);
    __syncthreads();
    cuda::add_weighted<false>(t, tiles.grads, tiles.k, tiles.stride, a.width, grad_q);
  }
  store_rows(g.grad_q, t, b, h, query, a.queries, a.width, grad_q);
}

void attention_grad(const Attention& a, const AttentionGrad& g) {
  const int64_t rows = a.batch * a.heads() * a.queries;
  if (a.batch == 0 || a.heads() == 0) return;
  const cuda::DeviceScratch scratch(static_cast<size_t>(rows) * sizeof(float));
  float* const dots = scratch.as<float>();
  const auto blocks = [](int64_t n, int64_t each) {
    return static_cast<unsigned>((n + each - 1) / each);
  };
  const unsigned batch = static_cast<unsigned>(a.batch);
  if (rows > 0) {
    ZOO_LAUNCH(dots_of_rows, dim3(blocks(rows, 128)), dim3(128), 0, a, g, dots);
  }
  cuda::with_head_width(a.width > a.value_width ? a.width : a.value_width, [&](auto sums) {
    constexpr int kSums = decltype(sums)::value;
    if (a.keys > 0) {
      cuda::allow_shared(&grads_of_keys<kSums>, shared_bytes(a));
      ZOO_LAUNCH((grads_of_keys<kSums>),
                 dim3(blocks(a.keys, kKeys), static_cast<unsigned>(a.kv_heads), batch),
                 dim3(cuda::kAttentionThreads), shared_bytes(a), a, g, dots);
    }
    if (a.queries > 0) {
      cuda::allow_shared(&grads_of_queries<kSums>, shared_bytes(a));
      ZOO_LAUNCH((grads_of_queries<kSums>),
                 dim3(blocks(a.queries, kQueries), static_cast<unsigned>(a.heads()), batch),
                 dim3(cuda::kAttentionThreads), shared_bytes(a), a, g, dots);
    }
  });
}

}  // namespace

ZOO_REGISTER_CUDA(attention_grad_kernel, &attention_grad);

}  // namespace zoo
