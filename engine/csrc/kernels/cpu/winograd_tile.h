// The transforms of F(4x4, 3x3): tiles of 4x4 outputs from 6x6 inputs with 36 multiplications
// instead of 144, y = A^T [(G g G^T) * (B^T d B)] A with the interpolation points 0, 1, -1, 2, -2
// and infinity. Each function applies one matrix along one axis of vectors of channels. Internal
// to the file that includes it.
#pragma once

#include "kernels/cpu/gemm_block.h"
#include "kernels/cpu/simd.h"

namespace zoo {
namespace {

constexpr int64_t kIn = 6;       // rows and columns of a tile of inputs
constexpr int64_t kOut = 4;      // and of a tile of outputs
constexpr int64_t kPoints = 36;  // products per tile and pair of channels

using WinogradV = Vector<float>;

// to = B^T from, 6 -> 6.
ZOO_INLINE void transform_input(const WinogradV* from, int64_t step, WinogradV* to,
                                int64_t to_step) {
  const WinogradV d0 = from[0], d1 = from[step], d2 = from[2 * step], d3 = from[3 * step],
                  d4 = from[4 * step], d5 = from[5 * step];
  const WinogradV even = d4 - d2 * 4.0f, odd = d3 - d1 * 4.0f;
  const WinogradV even2 = d4 - d2, odd2 = (d3 - d1) * 2.0f;
  to[0] = d0 * 4.0f - d2 * 5.0f + d4;
  to[to_step] = even + odd;
  to[2 * to_step] = even - odd;
  to[3 * to_step] = even2 + odd2;
  to[4 * to_step] = even2 - odd2;
  to[5 * to_step] = d1 * 4.0f - d3 * 5.0f + d5;
}

// to = A^T from, 6 -> 4.
ZOO_INLINE void transform_output(const WinogradV* from, int64_t step, WinogradV* to,
                                 int64_t to_step) {
  const WinogradV sum = from[step] + from[2 * step], difference = from[step] - from[2 * step];
  const WinogradV sum2 = from[3 * step] + from[4 * step],
                  difference2 = from[3 * step] - from[4 * step];
  to[0] = from[0] + sum + sum2;
  to[to_step] = difference + difference2 * 2.0f;
  to[2 * to_step] = sum + sum2 * 4.0f;
  to[3 * to_step] = difference + difference2 * 8.0f + from[5 * step];
}

// to = A from, 4 -> 6: the transpose, for gradients of outputs.
ZOO_INLINE void transform_gradient(const WinogradV* from, int64_t step, WinogradV* to,
                                   int64_t to_step) {
  const WinogradV d0 = from[0], d1 = from[step], d2 = from[2 * step], d3 = from[3 * step];
  const WinogradV even = d0 + d2, odd = d1 + d3;
  const WinogradV even2 = d0 + d2 * 4.0f, odd2 = d1 * 2.0f + d3 * 8.0f;
  to[0] = d0;
  to[to_step] = even + odd;
  to[2 * to_step] = even - odd;
  to[3 * to_step] = even2 + odd2;
  to[4 * to_step] = even2 - odd2;
  to[5 * to_step] = d3;
}

// to = G from, 3 -> 6.
ZOO_INLINE void transform_window(const WinogradV* from, int64_t step, WinogradV* to,
                                 int64_t to_step) {
  const WinogradV g0 = from[0], g1 = from[step], g2 = from[2 * step];
  const WinogradV outer = (g0 + g2) * (-1.0f / 6), inner = g1 * (1.0f / 6);
  const WinogradV outer2 = g0 * (1.0f / 24) + g2 * (1.0f / 6), inner2 = g1 * (1.0f / 12);
  to[0] = g0 * 0.25f;
  to[to_step] = outer - inner;
  to[2 * to_step] = outer + inner;
  to[3 * to_step] = outer2 + inner2;
  to[4 * to_step] = outer2 - inner2;
  to[5 * to_step] = g2;
}

// to = G^T from, 6 -> 3: the transpose, for the gradient of the window.
ZOO_INLINE void transform_window_gradient(const WinogradV* from, int64_t step, WinogradV* to,
                                          int64_t to_step) {
  const WinogradV sum = from[step] + from[2 * step], difference = from[2 * step] - from[step];
  const WinogradV sum2 = from[3 * step] + from[4 * step],
                  difference2 = from[3 * step] - from[4 * step];
  to[0] = from[0] * 0.25f - sum * (1.0f / 6) + sum2 * (1.0f / 24);
  to[to_step] = difference * (1.0f / 6) + difference2 * (1.0f / 12);
  to[2 * to_step] = (sum2 - sum) * (1.0f / 6) + from[5 * step];
}

// Applies a transform to the columns, then to the rows of a square of vectors: kFrom x kFrom
// becomes kTo x kTo.
template <int kFrom, int kTo, class F>
ZOO_INLINE void transform_square(F&& apply, const WinogradV* from, WinogradV* to) {
  WinogradV half[kTo * kFrom];
  for (int j = 0; j < kFrom; ++j) apply(from + j, kFrom, half + j, kFrom);
  for (int i = 0; i < kTo; ++i) apply(half + i * kFrom, 1, to + i * kTo, 1);
}

// How pictures are cut into tiles.
struct Tiling {
  int64_t down, across;  // tiles in a picture
  ZOO_INLINE Tiling(int64_t oh, int64_t ow)
      : down((oh + kOut - 1) / kOut), across((ow + kOut - 1) / kOut) {}
  int64_t per_picture() const { return down * across; }
};

// Reads the square of `kSide` pixels at (row, column) of an h x w picture with `channels` numbers
// per pixel; pixels outside are 0. `lanes` channels exist at x, at most a vector.
template <int kSide>
ZOO_INLINE void read_square(const float* x, int64_t h, int64_t w, int64_t channels, int64_t row,
                            int64_t column, int64_t lanes, WinogradV* to) {
  const float* from = x + (row * w + column) * channels;
  if (lanes == kLanes<float> && row >= 0 && column >= 0 && row + kSide <= h &&
      column + kSide <= w) {
    for (int i = 0; i < kSide; ++i) {
      for (int j = 0; j < kSide; ++j) {
        to[i * kSide + j] = load<WinogradV>(from + (i * w + j) * channels);
      }
    }
    return;
  }
  for (int i = 0; i < kSide; ++i) {
    for (int j = 0; j < kSide; ++j) {
      const bool inside = row + i >= 0 && row + i < h && column + j >= 0 && column + j < w;
      to[i * kSide + j] =
          inside ? load_first<WinogradV>(from + (i * w + j) * channels, lanes) : WinogradV{};
    }
  }
}

}  // namespace
}  // namespace zoo
