// Pictures into tensors, and their windows as columns and back.
#include "kernels/cuda/staging.h"
#include "kernels/cuda/team.h"
#include "kernels/image.h"
#include "kernels/unfold.h"

namespace zoo {
namespace {

using cuda::kThreads;

__global__ void look_up(ImageLookup a) {
  const int64_t total = a.n * a.h * a.w * a.c;
  for (int64_t i = cuda::thread_index(); i < total; i += cuda::thread_count()) {
    const int64_t c = i % a.c, pixel = i / a.c;
    const int64_t w = pixel % a.w, h = pixel / a.w % a.h, n = pixel / a.w / a.h;
    const uint8_t v =
        a.x[n * a.strides[0] + c * a.strides[1] + h * a.strides[2] + w * a.strides[3]];
    a.y[i] = a.table[c * 256 + v];
  }
}

void image_lookup(const ImageLookup& a) {
  const int64_t total = a.n * a.h * a.w * a.c;
  if (total == 0) return;
  const cuda::Input<float> table(a.table, a.c * 256);
  ImageLookup there = a;
  there.table = table.data();
  ZOO_LAUNCH(look_up, cuda::blocks_for(total), kThreads, 0, there);
}

template <class T>
__global__ void windows_to_columns(UnfoldShape s, const T* x, T* columns) {
  const int64_t total = s.planes * s.kh * s.kw * s.oh * s.ow;
  for (int64_t at = cuda::thread_index(); at < total; at += cuda::thread_count()) {
    int64_t rest = at;
    const int64_t ox = rest % s.ow;
    rest /= s.ow;
    const int64_t oy = rest % s.oh;
    rest /= s.oh;
    const int64_t j = rest % s.kw;
    rest /= s.kw;
    const int64_t i = rest % s.kh, plane = rest / s.kh;
    const int64_t row = oy * s.stride_h - s.pad_h + i * s.dilation_h;
    const int64_t column = ox * s.stride_w - s.pad_w + j * s.dilation_w;
    const bool inside = row >= 0 && row < s.h && column >= 0 && column < s.w;
    columns[at] = inside ? x[(plane * s.h + row) * s.w + column] : T(0);
  }
}

// A pixel adds up the columns that were read there, in the CPU's order.
template <class T>
__global__ void columns_to_windows(UnfoldShape s, const T* columns, T* x) {
  const int64_t total = s.planes * s.h * s.w;
  for (int64_t at = cuda::thread_index(); at < total; at += cuda::thread_count()) {
    const int64_t column = at % s.w, row = at / s.w % s.h, plane = at / s.w / s.h;
    T sum = 0;
    for (int64_t i = 0; i < s.kh; ++i) {
      const int64_t y = row + s.pad_h - i * s.dilation_h;
      if (y < 0 || y % s.stride_h != 0 || y / s.stride_h >= s.oh) continue;
      for (int64_t j = 0; j < s.kw; ++j) {
        const int64_t c = column + s.pad_w - j * s.dilation_w;
        if (c < 0 || c % s.stride_w != 0 || c / s.stride_w >= s.ow) continue;
        const int64_t window = (plane * s.kh + i) * s.kw + j;
        sum += columns[(window * s.oh + y / s.stride_h) * s.ow + c / s.stride_w];
      }
    }
    x[at] = sum;
  }
}

void unfold(DType dtype, const UnfoldShape& s, const void* x, void* columns) {
  const int64_t total = s.planes * s.kh * s.kw * s.oh * s.ow;
  if (total == 0) return;
  cuda::with_real(dtype, [&](auto t) {
    using T = decltype(t);
    ZOO_LAUNCH((windows_to_columns<T>), cuda::blocks_for(total), kThreads, 0, s,
               static_cast<const T*>(x), static_cast<T*>(columns));
  });
}

void fold(DType dtype, const UnfoldShape& s, const void* columns, void* x) {
  const int64_t total = s.planes * s.h * s.w;
  if (total == 0) return;
  cuda::with_real(dtype, [&](auto t) {
    using T = decltype(t);
    ZOO_LAUNCH((columns_to_windows<T>), cuda::blocks_for(total), kThreads, 0, s,
               static_cast<const T*>(columns), static_cast<T*>(x));
  });
}

}  // namespace

ZOO_REGISTER_CUDA(image_lookup_kernel, &image_lookup);
ZOO_REGISTER_CUDA(unfold_kernel, &unfold);
ZOO_REGISTER_CUDA(fold_kernel, &fold);

}  // namespace zoo
