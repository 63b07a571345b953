// Convolutions of many narrow groups (depthwise, ResNeXt): as products they would fill a few lanes
// of a tile. Here a vector holds several whole groups side by side; lane k of the result needs
// every channel c of its own group, which a shuffle inside the vector brings there. Internal to the
// file that includes it.
#pragma once

#include "kernels/cpu/conv_gather.h"
#include "kernels/cpu/simd.h"

namespace zoo {
namespace {

constexpr int64_t kMaxGroupWidth = 8;

// Groups with as many inputs as outputs, a power of two that divides a vector.
template <class T>
ZOO_INLINE bool is_narrow_grouped(const Conv2dShape& s) {
  const int64_t width = s.groups > 1 && s.c == s.k ? s.c / s.groups : 0;
  return width > 0 && (width & (width - 1)) == 0 && width <= kMaxGroupWidth && width < kLanes<T>;
}

// Calls body with the width of a group as a constant.
template <class F>
ZOO_INLINE void with_group_width(int64_t width, F&& body) {
  if (width == 1) return body(std::integral_constant<int, 1>{});
  if (width == 2) return body(std::integral_constant<int, 2>{});
  if (width == 4) return body(std::integral_constant<int, 4>{});
  body(std::integral_constant<int, 8>{});
}

// Lane l of the result is channel c of the group that lane l belongs to.
template <class T, int kWidth>
ZOO_INLINE Vector<T> group_channel(Vector<T> x, int c) {
  if constexpr (kWidth == 1) {
    return x;
  } else {
    using I = VectorN<std::conditional_t<sizeof(T) == 4, int32_t, int64_t>, kLanes<T>>;
    I lanes;
    for (int l = 0; l < kLanes<T>; ++l) lanes[l] = l / kWidth * kWidth + c;
    return __builtin_shuffle(x, lanes);
  }
}

// to[vector][tap][channel][lane]: the weight between `channel` of a lane's group and the lane's
// own channel. `group`, `lane` and `depth` are the weight's strides from group to group, from
// result to result in a group, and from operand to operand.
template <class T>
void pack_grouped(T* to, const Gather& g, const T* weight, int64_t row, int64_t column,
                  int64_t group, int64_t lane, int64_t depth) {
  constexpr int64_t kL = kLanes<T>;
  for (int64_t first = 0; first < g.target_channels; first += kL) {
    for (int64_t tap = 0; tap < g.h.taps * g.w.taps; ++tap) {
      const int64_t kh = g.h.weight_first + tap / g.w.taps * g.h.weight_step;
      const int64_t kw = g.w.weight_first + tap % g.w.taps * g.w.weight_step;
      for (int64_t c = 0; c < g.depth; ++c, to += kL) {
        for (int64_t l = 0; l < kL; ++l) {
          const int64_t k = first + l;
          to[l] = k < g.target_channels
                      ? weight[kh * row + kw * column + k / g.depth * group + k % g.depth * lane +
                               c * depth]
                      : T{0};
        }
      }
    }
  }
}

// One row of result pixels, for the channels of one vector.
template <class T, int kWidth>
ZOO_INLINE void grouped_row(const Gather& g, const T* x, const T* weight, int64_t n, int64_t i,
                            int64_t channel, const Output<T>& out) {
  using V = Vector<T>;
  constexpr int64_t kL = kLanes<T>;
  constexpr int kPixels = 6;  // at a time: independent sums hide the latency of multiply-adds
  const int64_t lanes = smaller(kL, g.target_channels - channel);
  const auto read = [&](const T* p) ZOO_ALWAYS {
    return lanes == kL ? load<V>(p) : load_first<V>(p, lanes);
  };
  for (int64_t j = 0; j < g.w.pixels; j += kPixels) {
    V acc[kPixels];
    unrolled<kPixels>([&](auto p) ZOO_ALWAYS { acc[p] = V{}; });
    for (int64_t ty = 0; ty < g.h.taps; ++ty) {
      const int64_t row = i * g.h.step + g.h.first + ty * g.h.tap_step;
      if (row < 0 || row >= g.h.source) continue;
      const T* line = x + (n * g.h.source + row) * g.w.source * g.source_channels + channel;
      for (int64_t tx = 0; tx < g.w.taps; ++tx) {
        const int64_t column = j * g.w.step + g.w.first + tx * g.w.tap_step;
        V source[kPixels];
        const T* from = line + column * g.source_channels;
        if (lanes == kL && column >= 0 && column + (kPixels - 1) * g.w.step < g.w.source) {
          unrolled<kPixels>([&](auto p) ZOO_ALWAYS {
            source[p] = load<V>(from + p * g.w.step * g.source_channels);
          });
        } else {
          unrolled<kPixels>([&](auto p) ZOO_ALWAYS {
            const int64_t at = column + p * g.w.step;
            source[p] = at >= 0 && at < g.w.source ? read(line + at * g.source_channels) : V{};
          });
        }
        const T* w = weight + (ty * g.w.taps + tx) * kWidth * kL;
        unrolled<kWidth>([&](auto c) ZOO_ALWAYS {
          const V factor = load<V>(w + c * kL);
          unrolled<kPixels>([&](auto p) ZOO_ALWAYS {
            acc[p] += group_channel<T, kWidth>(source[p], c) * factor;
          });
        });
      }
    }
    const V scale = out.scale == nullptr ? V{} + T{1} : read(out.scale + channel);
    const V bias = out.bias == nullptr ? V{} : read(out.bias + channel);
    const int64_t target_row = (n * g.h.target + i * g.h.target_step + g.h.target_first);
    unrolled<kPixels>([&](auto p) ZOO_ALWAYS {
      if (j + p >= g.w.pixels) return;
      const int64_t at = target_row * g.w.target + (j + p) * g.w.target_step + g.w.target_first;
      const int64_t offset = at * g.target_channels + channel;
      V value = acc[p] * scale + bias;
      if (out.residual != nullptr) value += read(out.residual + offset);
      if (out.relu) value = value < V{} ? V{} : value;
      if (lanes == kL) {
        store(out.c + offset, value);
      } else {
        store_first(out.c + offset, value, lanes);
      }
    });
  }
}

// The whole product; strides of the weight as for pack_grouped.
template <class T>
void grouped_product(const Gather& g, const T* x, const T* weight, int64_t row, int64_t column,
                     int64_t group, int64_t lane, int64_t depth, const Output<T>& out) {
  constexpr int64_t kL = kLanes<T>;
  const int64_t vectors = ceil_div(g.target_channels, kL);
  const int64_t size = g.inner() * kL;
  Scratch space(static_cast<size_t>(vectors * size) * sizeof(T));
  T* const packed = space.as<T>();
  pack_grouped(packed, g, weight, row, column, group, lane, depth);
  const int64_t work = larger(1, g.w.pixels * g.target_channels * g.inner());
  parallel_for(0, g.images * g.h.pixels, kWorthAThread / work + 1,
               [&](int64_t first, int64_t last) {
    with_group_width(g.depth, [&](auto width) {
      for (int64_t i = first; i < last; ++i) {
        for (int64_t v = 0; v < vectors; ++v) {
          grouped_row<T, width>(g, x, packed + v * size, i / g.h.pixels, i % g.h.pixels, v * kL,
                                out);
        }
      }
    });
  });
}

// sums[tap][channel][lane] += the products of the gradients of one row of output pixels with what
// they were computed from, for the channels of one vector.
template <class T, int kWidth>
ZOO_INLINE void grouped_row_gradient(const Gather& g, const T* x, const T* grad_y, int64_t n,
                                     int64_t i, int64_t channel, T* sums) {
  using V = Vector<T>;
  constexpr int64_t kL = kLanes<T>;
  const int64_t lanes = smaller(kL, g.target_channels - channel);
  const auto read = [&](const T* p) ZOO_ALWAYS {
    return lanes == kL ? load<V>(p) : load_first<V>(p, lanes);
  };
  const T* gradient = grad_y + (n * g.h.pixels + i) * g.w.pixels * g.target_channels + channel;
  for (int64_t ty = 0; ty < g.h.taps; ++ty) {
    const int64_t row = i * g.h.step + g.h.first + ty * g.h.tap_step;
    if (row < 0 || row >= g.h.source) continue;
    const T* line = x + (n * g.h.source + row) * g.w.source * g.source_channels + channel;
    for (int64_t tx = 0; tx < g.w.taps; ++tx) {
      // Output pixels [low, high) read a pixel that exists.
      const int64_t shift = g.w.first + tx * g.w.tap_step;
      const int64_t low = shift < 0 ? ceil_div(-shift, g.w.step) : 0;
      const int64_t high =
          shift >= g.w.source ? 0 : smaller(g.w.pixels, (g.w.source - 1 - shift) / g.w.step + 1);
      T* sum = sums + (ty * g.w.taps + tx) * kWidth * kL;
      V even[kWidth], odd[kWidth];
      unrolled<kWidth>([&](auto c) ZOO_ALWAYS {
        even[c] = load<V>(sum + c * kL);
        odd[c] = V{};
      });
      const auto add = [&](V(&acc)[kWidth], int64_t j) ZOO_ALWAYS {
        const V dy = read(gradient + j * g.target_channels);
        const V source = read(line + (j * g.w.step + shift) * g.source_channels);
        unrolled<kWidth>([&](auto c) ZOO_ALWAYS {
          acc[c] += group_channel<T, kWidth>(source, c) * dy;
        });
      };
      int64_t j = low;
      for (; j + 2 <= high; j += 2) {
        add(even, j);
        add(odd, j + 1);
      }
      if (j < high) add(even, j);
      unrolled<kWidth>([&](auto c) ZOO_ALWAYS { store(sum + c * kL, even[c] + odd[c]); });
    }
  }
}

// Gradient of the weight. Rows of pixels go in chunks whose number depends on the shape alone.
template <class T>
void grouped_grad_weight(const Conv2dShape& s, const Gather& g, const T* x, const T* grad_y,
                         T* grad) {
  constexpr int64_t kL = kLanes<T>;
  const int64_t vectors = ceil_div(s.k, kL), size = g.inner() * kL;
  const int64_t rows = s.n * s.oh;
  const int64_t chunk_rows = larger(1, ceil_div(rows, 16));
  const int64_t chunks = larger(1, ceil_div(rows, chunk_rows));
  Scratch space(static_cast<size_t>(chunks * vectors * size) * sizeof(T));
  T* const sums = space.as<T>();
  const int64_t work = larger(1, chunk_rows * s.ow * g.inner() * kL);
  parallel_for(0, chunks * vectors, kWorthAThread / work + 1, [&](int64_t first, int64_t last) {
    with_group_width(g.depth, [&](auto width) {
      for (int64_t task = first; task < last; ++task) {
        T* sum = sums + task * size;
        zero_row(sum, size);
        const int64_t from = task / vectors * chunk_rows;
        for (int64_t i = from; i < smaller(rows, from + chunk_rows); ++i) {
          grouped_row_gradient<T, width>(g, x, grad_y, i / s.oh, i % s.oh, task % vectors * kL,
                                         sum);
        }
      }
    });
  });
  const int64_t* ws = s.weight_strides;
  for (int64_t k = 0; k < s.k; ++k) {
    for (int64_t i = 0; i < g.inner(); ++i) {
      const int64_t tap = i / g.depth;
      T total{0};
      for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        total += sums[(chunk * vectors + k / kL) * size + i * kL + k % kL];
      }
      grad[k * ws[0] + i % g.depth * ws[1] + tap / s.kw * ws[2] + tap % s.kw * ws[3]] = total;
    }
  }
}

}  // namespace
}  // namespace zoo
