// Convolution as a matrix product whose left side is never written out whole: blocks of pixels x
// (taps, channels) are gathered straight from the picture (implicit GEMM). Internal to the file
// that includes it.
#pragma once

#include "kernels/conv.h"
#include "kernels/cpu/gemm_driver.h"

namespace zoo {
namespace {

// One of the two picture axes of a gathered product: result pixel i reads the source at
// i * step + first + t * tap_step for taps t in [0, taps) and is written to the target at
// i * target_step + target_first. Source pixels outside [0, source) count as 0.
struct GatherAxis {
  int64_t pixels, source, target;
  int64_t step, first;
  int64_t taps, tap_step;
  int64_t weight_first, weight_step;  // tap t is the window's row (column) first + t * step
  int64_t target_step, target_first;
};

// Forward: output pixel o reads o * stride - pad + t * dilation.
ZOO_INLINE GatherAxis forward_axis(int64_t in, int64_t out, int64_t window, int64_t stride,
                                   int64_t pad, int64_t dilation) {
  return {out, in, out, stride, -pad, window, dilation, 0, 1, 1, 0};
}

// Gradient of the input, for pixels i * stride + phase: they were read through the taps t with
// phase + pad - t * dilation a multiple of the stride, by output (phase + pad - t * dilation) /
// stride + i. Taps are listed from the last one on, so that the source index ascends.
ZOO_INLINE GatherAxis gradient_axis(int64_t in, int64_t out, int64_t window, int64_t stride,
                                    int64_t pad, int64_t dilation, int64_t phase) {
  GatherAxis axis{ceil_div(larger(0, in - phase), stride), out, in, 1, 0, 0, 0, 0, 0, stride,
                  phase};
  int64_t last = -1, previous = -1;
  for (int64_t t = 0; t < window; ++t) {
    if ((phase + pad - t * dilation) % stride != 0) continue;
    previous = last;
    last = t;
    ++axis.taps;
  }
  if (axis.taps == 0) return axis;
  const int64_t gap = previous < 0 ? 0 : last - previous;
  axis.first = (phase + pad - last * dilation) / stride;
  axis.tap_step = gap * dilation / stride;
  axis.weight_first = last;
  axis.weight_step = -gap;
  return axis;
}

struct Gather {
  int64_t images;
  GatherAxis h, w;
  int64_t source_channels, target_channels;  // of a whole pixel
  int64_t depth;                             // channels that are read from a tap
  int64_t pixels() const { return images * h.pixels * w.pixels; }
  int64_t inner() const { return h.taps * w.taps * depth; }

  // A row of taps that lie side by side, all channels, is one contiguous stretch.
  bool merged() const { return w.tap_step == 1 && depth == source_channels; }
};

// Position of a pixel of the result, advanced without divisions.
struct PixelCursor {
  int64_t n, i, j;
  ZOO_INLINE PixelCursor(const Gather& g, int64_t pixel)
      : n(pixel / (g.h.pixels * g.w.pixels)),
        i(pixel / g.w.pixels % g.h.pixels),
        j(pixel % g.w.pixels) {}
  ZOO_INLINE void advance(const Gather& g) {
    if (++j < g.w.pixels) return;
    j = 0;
    if (++i < g.h.pixels) return;
    i = 0;
    ++n;
  }
};

// Copies [from, to) of the (taps, channels) axis of one pixel; what lies outside the picture is 0.
// `x` points at the first channel that is read of the first pixel.
template <class T>
ZOO_INLINE void gather_pixel(const Gather& g, const T* x, const PixelCursor& at, int64_t from,
                             int64_t to, T* out) {
  const bool merged = g.merged();
  const int64_t stretch = merged ? g.w.taps * g.depth : g.depth;
  const int64_t stretches = merged ? 1 : g.w.taps;
  int64_t segment = from / stretch;
  int64_t q = from - segment * stretch;
  int64_t tap_row = segment / stretches, tap = segment % stretches;
  const int64_t first_w = at.j * g.w.step + g.w.first;
  while (from < to) {
    const int64_t end = smaller(stretch, q + to - from);  // within this stretch
    const int64_t length = end - q;
    const int64_t row = at.i * g.h.step + g.h.first + tap_row * g.h.tap_step;
    const int64_t column = first_w + tap * g.w.tap_step;
    if (row < 0 || row >= g.h.source) {
      zero_row(out, length);
    } else {
      // The part of the stretch whose pixels exist.
      int64_t low = q, high = end;
      if (column < 0) low = smaller(end, larger(q, -column * g.depth));
      if (g.w.source - column < (merged ? g.w.taps : 1)) {
        high = larger(low, smaller(end, (g.w.source - column) * g.depth));
      }
      const int64_t offset =
          ((at.n * g.h.source + row) * g.w.source + column) * g.source_channels;
      if (low > q) zero_row(out, low - q);
      copy_row(out + (low - q), x + (offset + low), high - low);
      if (high < end) zero_row(out + (high - q), end - high);
    }
    out += length;
    from += length;
    q = 0;
    if (++tap == stretches) {
      tap = 0;
      ++tap_row;
    }
  }
}

// The left side of the product: rows are pixels of the result.
template <class T>
struct GatheredRows {
  static constexpr Order kOrder = Order::kRows;
  static constexpr bool kPacks = true;
  Gather g;
  const T* x;  // at the group's first channel

  static int64_t pitch(int64_t depth) { return depth + kLanes<T>; }
  int64_t space(int64_t rows, int64_t depth) const { return rows * pitch(depth); }
  LeftBlock<T> block(int64_t row, int64_t rows, int64_t p, int64_t depth, T* space) const {
    if (depth == 0) return {space, 0, 0};  // a phase that no tap reads
    PixelCursor at(g, row);
    for (int64_t r = 0; r < rows; ++r, at.advance(g)) {
      gather_pixel(g, x, at, p, p + depth, space + r * pitch(depth));
    }
    return {space, pitch(depth), pitch(depth)};
  }
  void offsets(int64_t row, int64_t rows, int64_t* out) const {
    PixelCursor at(g, row);
    for (int64_t r = 0; r < rows; ++r, at.advance(g)) {
      const int64_t i = at.i * g.h.target_step + g.h.target_first;
      const int64_t j = at.j * g.w.target_step + g.w.target_first;
      out[r] = ((at.n * g.h.target + i) * g.w.target + j) * g.target_channels;
    }
  }
};

// The right side: the weight, as (taps, channels) x result channels.
template <class T>
struct WeightPanels {
  Gather g;
  const T* weight;  // at the group's first channels
  int64_t row_stride, column_stride, depth_stride, result_stride;
  const T* packed = nullptr;

  void pack(T* to, int64_t column, int64_t columns, int64_t p, int64_t depth) const {
    while (depth > 0) {
      const int64_t tap = p / g.depth, channel = p % g.depth;
      const int64_t length = smaller(depth, g.depth - channel);
      const int64_t kh = g.h.weight_first + tap / g.w.taps * g.h.weight_step;
      const int64_t kw = g.w.weight_first + tap % g.w.taps * g.w.weight_step;
      const T* from = weight + kh * row_stride + kw * column_stride + channel * depth_stride +
                      column * result_stride;
      pack_panel(to, from, depth_stride, result_stride, length, columns);
      to += length * kTileColumns<T>;
      p += length;
      depth -= length;
    }
  }
};

}  // namespace
}  // namespace zoo
