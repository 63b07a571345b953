// What attention's kernels share: tiles of queries and keys in shared memory, and their scores. A
// block has 128 threads for a tile of kQueries x kKeys scores; thread (ty, tx) has the scores of
// kRowsOf rows and kColumnsOf columns, and the columns tx, tx + kAcross, ... of what is summed up.
#pragma once

#include <limits>
#include <type_traits>

#include "core/errors.h"
#include "kernels/attention.h"
#include "kernels/cuda/launch.h"

namespace zoo::cuda {

inline constexpr int kQueries = 32, kKeys = 32, kAcross = 8, kDown = 16;
inline constexpr int kAttentionThreads = kAcross * kDown;
inline constexpr int kRowsOf = kQueries / kDown, kColumnsOf = kKeys / kAcross;
// Rows of scores in shared memory, padded so that columns too are read without conflicts.
inline constexpr int kScoreStride = kKeys + 1;

struct AttentionThread {
  int tx, ty;

  __device__ AttentionThread()
      : tx(static_cast<int>(threadIdx.x) % kAcross), ty(static_cast<int>(threadIdx.x) / kAcross) {}
  __device__ int row(int i) const { return ty * kRowsOf + i; }
  __device__ int column(int j) const { return tx + j * kAcross; }
};

// Rows [first, first + 32) of a head; those past `rows` are 0. `stride` is width + 1.
__device__ inline void load_tile(float* tile, int stride, const HeadRows<const float>& from,
                                 int64_t b, int64_t h, int64_t first, int64_t rows,
                                 int64_t width) {
  for (int e = static_cast<int>(threadIdx.x); e < 32 * static_cast<int>(width);
       e += kAttentionThreads) {
    const int r = e / static_cast<int>(width), c = e % static_cast<int>(width);
    tile[r * stride + c] = first + r < rows ? from.data[b * from.batch + h * from.head +
                                                        (first + r) * from.row + c]
                                            : 0.0f;
  }
}

// Products of rows of two tiles: out[i][j] = left row(i) . right column(j).
__device__ inline void dot_tiles(const AttentionThread& t, const float* left, const float* right,
                                 int stride, int64_t width, float (&out)[kRowsOf][kColumnsOf]) {
  for (int i = 0; i < kRowsOf; ++i) {
    for (int j = 0; j < kColumnsOf; ++j) out[i][j] = 0;
  }
  for (int64_t c = 0; c < width; ++c) {
    float x[kRowsOf], y[kColumnsOf];
    for (int i = 0; i < kRowsOf; ++i) x[i] = left[t.row(i) * stride + c];
    for (int j = 0; j < kColumnsOf; ++j) y[j] = right[t.column(j) * stride + c];
    for (int i = 0; i < kRowsOf; ++i) {
      for (int j = 0; j < kColumnsOf; ++j) out[i][j] += x[i] * y[j];
    }
  }
}

// The score of a query and a key from their product; minus infinity where the query does not look.
__device__ inline float score_of(const Attention& a, int64_t b, int64_t h, int64_t query,
                                 int64_t key, float product) {
  constexpr float kNothing = -std::numeric_limits<float>::infinity();
  if (key >= a.keys || query >= a.queries || (a.causal && key > query)) return kNothing;
  const float score = product * a.scale;
  if (a.mask == nullptr) return score;
  const int64_t at = b * a.mask_stride[0] + h * a.mask_stride[1] + query * a.mask_stride[2] +
                     key * a.mask_stride[3];
  if (a.mask_is_bool) return static_cast<const bool*>(a.mask)[at] ? score : kNothing;
  return score + static_cast<const float*>(a.mask)[at];
}

// sums[i][j] += sum over r of weights[row(i)][r] * values[r][column tx + j * kAcross], for the 32
// rows of a tile of values. kTurned: weights[r][row(i)] instead.
template <bool kTurned, int kSums>
__device__ void add_weighted(const AttentionThread& t, const float* weights, const float* values,
                             int stride, int64_t width, float (&sums)[kRowsOf][kSums]) {
  for (int r = 0; r < 32; ++r) {
    float w[kRowsOf];
    for (int i = 0; i < kRowsOf; ++i) {
      w[i] = kTurned ? weights[r * kScoreStride + t.row(i)] : weights[t.row(i) * kScoreStride + r];
    }
    for (int j = 0; j < kSums; ++j) {
      const int c = t.tx + j * kAcross;
      if (c >= width) break;
      const float v = values[r * stride + c];
      for (int i = 0; i < kRowsOf; ++i) sums[i][j] += w[i] * v;
    }
  }
}

// Kernels start with permission for 48 KiB.
template <class... Args>
void allow_shared(void (*kernel)(Args...), size_t bytes) {
  if (bytes > size_t{48} << 10) allow_shared_bytes(reinterpret_cast<const void*>(kernel), bytes);
}

// Calls body(sums a thread keeps, as a type) for the wider of the two widths.
template <class F>
void with_head_width(int64_t width, F&& body) {
  if (width <= 64) return body(std::integral_constant<int, 64 / kAcross>{});
  if (width <= 128) return body(std::integral_constant<int, 128 / kAcross>{});
  zoo::check<NotImplemented>(width <= 256, "attention on 'cuda': heads of ", width,
                             " numbers; expected at most 256");
  body(std::integral_constant<int, 256 / kAcross>{});
}

}  // namespace zoo::cuda
