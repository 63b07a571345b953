// Gradient of a convolution's weight: a matrix product that sums over all output pixels,
// dW[k, (tap, c)] = sum over pixels p of grad_y[p, k] x[pixel that tap reads for p, c].
#include "kernels/conv.h"

#include "kernels/cpu/conv_grouped.h"
#include "kernels/cpu/winograd.h"
#include "kernels/cpu/winograd_choice.h"

namespace zoo {
namespace {

// Pixels go in chunks of fixed size with a partial sum each, added up in order: how many threads
// share the chunks does not change a bit.
struct Chunks {
  int64_t count, pixels;
};

ZOO_INLINE Chunks choose_chunks(int64_t pixels, int64_t weight_size) {
  constexpr int64_t kMinPixels = 2048, kMaxChunks = 16, kMaxPartial = int64_t{1} << 22;
  const int64_t count = larger(
      1, smaller(smaller(pixels / kMinPixels, kMaxChunks), kMaxPartial / larger(1, weight_size)));
  const int64_t size = larger(256, round_up(ceil_div(pixels, count), 256));
  return {larger(1, ceil_div(pixels, size)), size};
}

// Panels of the (taps, channels) axis that are packed together: long enough a piece of each pixel
// for memory to be read in order.
constexpr int64_t kPanels = 8;

// Entries [column, column + columns) of that axis for pixels [pixel, pixel + n), as panels that
// are n * kTileColumns apart.
template <class T>
void pack_pixels(const Gather& g, const T* x, int64_t pixel, int64_t n, int64_t column,
                 int64_t columns, T* to) {
  constexpr int64_t kN = kTileColumns<T>;
  PixelCursor at(g, pixel);
  T line[kPanels * kN] = {};
  for (int64_t p = 0; p < n; ++p, at.advance(g), to += kN) {
    gather_pixel(g, x, at, column, column + columns, line);
    for (int64_t i = 0; i * kN < columns; ++i) copy_row(to + i * n * kN, line + i * kN, kN);
  }
}

// partial[k, (tap, c)] = the sum over `count` pixels from `pixel`, for columns [column, end).
template <class T>
void sum_chunk(const Gather& g, const T* x, const T* grad_y, int64_t k, int64_t grad_channels,
               int64_t pixel, int64_t count, int64_t column, int64_t end, T* partial) {
  constexpr int64_t kN = kTileColumns<T>, kDepth = kMaxDepth;
  const int64_t inner = g.inner();
  Scratch space(static_cast<size_t>(kDepth * kPanels * kN + columns_space(k, kDepth)) *
                sizeof(T));
  T* const right = space.as<T>();
  T* const left = right + kDepth * kPanels * kN;
  Output<T> out;
  out.c = partial;
  for (int64_t p = 0; p < count; p += kDepth) {
    const int64_t depth = smaller(kDepth, count - p);
    out.accumulate = p > 0;
    pack_columns(left, grad_y + (pixel + p) * grad_channels, 1, grad_channels, k, depth);
    for (int64_t c = column; c < end; c += kPanels * kN) {
      const int64_t columns = smaller(kPanels * kN, end - c);
      pack_pixels(g, x, pixel + p, depth, c, columns, right);
      int64_t offsets[kMaxBlockRows];
      for (int64_t row = 0; row < k; row += kMaxBlockRows) {
        const int64_t rows = smaller(kMaxBlockRows, k - row);
        for (int64_t r = 0; r < rows; ++r) offsets[r] = (row + r) * inner;
        const LeftBlock<T> block{left + row * depth, depth, kTileRows};
        multiply_block({Order::kColumns, rows, depth, block, right, kN, depth * kN, offsets, c,
                        c + columns},
                       out);
      }
    }
  }
}

template <class T>
void grad_weight(const Conv2dShape& s, const T* x, const T* grad_y, T* grad) {
  if constexpr (std::is_same_v<T, float>) {
    if (use_winograd<T>(s)) {
      const int64_t* ws = s.weight_strides;
      const WinogradShape shape{s.n, s.c, s.h, s.w, s.k, s.oh, s.ow, s.pad_h, s.pad_w,
                                ws[2], ws[3], ws[1], ws[0]};
      return winograd_grad_weight_kernel.on(DeviceType::kCPU)(shape, x, grad_y, grad);
    }
  }
  constexpr int64_t kN = kTileColumns<T>;
  const int64_t c = s.c / s.groups, k = s.k / s.groups;
  const Gather g{s.n,
                 forward_axis(s.h, s.oh, s.kh, s.stride_h, s.pad_h, s.dilation_h),
                 forward_axis(s.w, s.ow, s.kw, s.stride_w, s.pad_w, s.dilation_w),
                 s.c, s.k, c};
  if (is_narrow_grouped<T>(s)) return grouped_grad_weight(s, g, x, grad_y, grad);
  const int64_t inner = g.inner(), pixels = g.pixels(), size = k * inner;
  if (size == 0) return;
  const Chunks chunks = choose_chunks(pixels, s.groups * size);
  // Columns are split further until there are enough tasks, or pieces get small.
  const int64_t pieces =
      larger(1, smaller(ceil_div(16, chunks.count * s.groups), inner / (8 * kN)));
  const int64_t width = round_up(ceil_div(inner, pieces), kN);
  const int64_t across = ceil_div(inner, width);
  Scratch sums(static_cast<size_t>(chunks.count * s.groups * size) * sizeof(T));
  T* const partial = sums.as<T>();
  const int64_t work = larger(1, smaller(chunks.pixels, pixels) * k * smaller(width, inner));
  parallel_for(0, chunks.count * s.groups * across, kWorthAThread / work + 1,
               [&](int64_t first, int64_t last) {
    for (int64_t task = first; task < last; ++task) {
      const int64_t column = task % across * width;
      const int64_t group = task / across % s.groups;
      const int64_t chunk = task / across / s.groups;
      const int64_t pixel = chunk * chunks.pixels;
      T* to = partial + (chunk * s.groups + group) * size;
      const int64_t count = smaller(chunks.pixels, pixels - pixel);
      if (count <= 0) {  // an empty batch
        zero_row(to, size);
        continue;
      }
      sum_chunk(g, x + group * c, grad_y + group * k, k, s.k, pixel, count, column,
                smaller(inner, column + width), to);
    }
  });
  const int64_t* ws = s.weight_strides;
  parallel_for(0, s.k, kWorthAThread / (inner * chunks.count) + 1,
               [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      T* sum = partial + row * inner;
      for (int64_t chunk = 1; chunk < chunks.count; ++chunk) {
        const T* more = sum + chunk * s.groups * size;
        for (int64_t i = 0; i < inner; ++i) sum[i] += more[i];
      }
      for (int64_t tap = 0; tap < s.kh * s.kw; ++tap) {
        T* to = grad + row * ws[0] + tap / s.kw * ws[2] + tap % s.kw * ws[3];
        for (int64_t i = 0; i < c; ++i) to[i * ws[1]] = sum[tap * c + i];
      }
    }
  });
}

void conv2d_grad_weight(DType dtype, const Conv2dShape& s, const void* x, const void* grad_y,
                        void* grad) {
  if (dtype == DType::kF64) {
    return grad_weight(s, static_cast<const double*>(x), static_cast<const double*>(grad_y),
                       static_cast<double*>(grad));
  }
  grad_weight(s, static_cast<const float*>(x), static_cast<const float*>(grad_y),
              static_cast<float*>(grad));
}

}  // namespace

ZOO_REGISTER_CPU(conv2d_grad_weight_kernel, &conv2d_grad_weight);

}  // namespace zoo
