// Products with weights of 16, 8 or 4 bits: a warp makes one row's number for all tokens, so that
// weights are read once.
#include "kernels/quantized.h"

#include "kernels/cuda/team.h"

namespace zoo {
namespace {

using cuda::kThreads;
using cuda::kWarp;

__device__ inline float from_bf16(uint16_t bits) {
  BFloat16 v;
  v.bits = bits;
  return static_cast<float>(v);
}

// The weight at [row][p], its scale included.
template <QuantizedMatrix::Kind kKind>
__device__ float weight_at(const QuantizedMatrix& m, int64_t row, int64_t p) {
  if constexpr (kKind == QuantizedMatrix::Kind::kBF16) {
    return from_bf16(static_cast<const uint16_t*>(m.codes)[row * m.width + p]);
  } else if constexpr (kKind == QuantizedMatrix::Kind::kInt8) {
    return static_cast<float>(static_cast<const int8_t*>(m.codes)[row * m.width + p]) *
           static_cast<const float*>(m.scales)[row];
  } else {
    const int64_t group = (row * m.width + p) / kInt4Group, i = p % kInt4Group;
    constexpr int64_t kHalf = kInt4Group / 2;
    const int byte = static_cast<const int8_t*>(m.codes)[group * kHalf + i % kHalf];
    const int nibble = i < kHalf ? (byte & 15) : (byte >> 4 & 15);
    return static_cast<float>(nibble < 8 ? nibble : nibble - 16) *
           from_bf16(static_cast<const uint16_t*>(m.scales)[group]);
  }
}

template <QuantizedMatrix::Kind kKind>
__global__ void multiply_rows(QuantizedMatrix m, const float* x, int tokens, const float* bias,
                              float* y) {
  using Threads = cuda::Team<kWarp>;
  const int64_t row = Threads::row();
  if (row >= m.rows) return;
  float sums[kFewTokens] = {};
  for (int64_t p = Threads::rank(); p < m.width; p += kWarp) {
    const float w = weight_at<kKind>(m, row, p);
    for (int t = 0; t < kFewTokens; ++t) {
      if (t < tokens) sums[t] += x[t * m.width + p] * w;
    }
  }
  for (int t = 0; t < kFewTokens; ++t) {
    if (t >= tokens) break;
    const float sum = Threads::sum(sums[t]);
    if (Threads::rank() == 0) y[t * m.rows + row] = bias != nullptr ? sum + bias[row] : sum;
  }
}

template <QuantizedMatrix::Kind kKind>
__global__ void unpack(QuantizedMatrix m, int64_t first, int64_t total, float* to) {
  for (int64_t i = cuda::thread_index(); i < total; i += cuda::thread_count()) {
    to[i] = weight_at<kKind>(m, first + i / m.width, i % m.width);
  }
}

template <class F>
void by_kind(const QuantizedMatrix& m, F&& body) {
  using Kind = QuantizedMatrix::Kind;
  switch (m.kind) {
    case Kind::kBF16: return body(std::integral_constant<Kind, Kind::kBF16>{});
    case Kind::kInt8: return body(std::integral_constant<Kind, Kind::kInt8>{});
    case Kind::kInt4: return body(std::integral_constant<Kind, Kind::kInt4>{});
  }
}

void quantized_product(const QuantizedMatrix& m, const float* x, int64_t tokens, const float* bias,
                       float* y) {
  if (m.rows == 0 || tokens == 0) return;
  const cuda::RowLaunch launch = cuda::launch_for_rows(m.rows, kWarp);
  by_kind(m, [&](auto kind) {
    ZOO_LAUNCH(multiply_rows<decltype(kind)::value>, launch.grid, launch.block, 0, m, x,
               static_cast<int>(tokens), bias, y);
  });
}

void unpack_rows(const QuantizedMatrix& m, int64_t first, int64_t last, float* to) {
  const int64_t total = (last - first) * m.width;
  if (total <= 0) return;
  by_kind(m, [&](auto kind) {
    ZOO_LAUNCH(unpack<decltype(kind)::value>, cuda::blocks_for(total), kThreads, 0, m, first, total,
               to);
  });
}

}  // namespace

ZOO_REGISTER_CUDA(quantized_product_kernel, &quantized_product);
ZOO_REGISTER_CUDA(unpack_rows_kernel, &unpack_rows);

}  // namespace zoo
