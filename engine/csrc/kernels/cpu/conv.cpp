// Convolution forward and gradient of its input, by implicit GEMM.
#include "kernels/conv.h"

#include "kernels/cpu/conv_gather.h"
#include "kernels/cpu/conv_grouped.h"
#include "kernels/cpu/winograd.h"
#include "kernels/cpu/winograd_choice.h"

namespace zoo {
namespace {

ZOO_INLINE bool is_pointwise(const Conv2dShape& s) {
  return s.kh * s.kw == 1 && s.stride_h == 1 && s.stride_w == 1 && s.pad_h == 0 && s.pad_w == 0;
}

// Many groups go to threads whole; the products of few groups are split inside.
template <class F>
ZOO_INLINE void for_each_group(const Conv2dShape& s, F&& body) {
  parallel_for(0, s.groups, s.groups >= 2 * num_threads() ? 1 : s.groups,
               [&](int64_t first, int64_t last) {
    for (int64_t group = first; group < last; ++group) body(group);
  });
}

Gather forward_gather(const Conv2dShape& s) {
  return {s.n,
          forward_axis(s.h, s.oh, s.kh, s.stride_h, s.pad_h, s.dilation_h),
          forward_axis(s.w, s.ow, s.kw, s.stride_w, s.pad_w, s.dilation_w),
          s.c, s.k, s.c / s.groups};
}

WinogradShape forward_winograd(const Conv2dShape& s) {
  const int64_t* ws = s.weight_strides;
  return {s.n, s.c, s.h, s.w, s.k, s.oh, s.ow, s.pad_h, s.pad_w, ws[2], ws[3], ws[1], ws[0],
          static_cast<const float*>(s.packed_weight)};
}

template <class T>
void forward(const Conv2dShape& s, const T* x, const T* weight, const Conv2dEpilogue& epilogue,
             T* y) {
  if constexpr (std::is_same_v<T, float>) {
    if (use_winograd<T>(s)) {
      return winograd_forward_kernel.on(DeviceType::kCPU)(forward_winograd(s), x, weight, epilogue,
                                                          y);
    }
  }
  const int64_t c = s.c / s.groups, k = s.k / s.groups;
  const Gather g = forward_gather(s);
  const int64_t* ws = s.weight_strides;
  const T* scale = static_cast<const T*>(epilogue.scale);
  const T* bias = static_cast<const T*>(epilogue.bias);
  const T* residual = static_cast<const T*>(epilogue.residual);
  const auto from_channel = [](const T* p, int64_t channel) {
    return p == nullptr ? nullptr : p + channel;
  };
  const auto output = [&](int64_t channel) {
    return Output<T>{y + channel, from_channel(scale, channel), from_channel(bias, channel),
                     from_channel(residual, channel), false, epilogue.relu};
  };
  if (is_narrow_grouped<T>(s)) {
    return grouped_product(g, x, weight, ws[2], ws[3], k * ws[0], ws[0], ws[1], output(0));
  }
  for_each_group(s, [&](int64_t group) {
    const Output<T> out = output(group * k);
    const WeightPanels<T> right{g, weight + group * k * ws[0], ws[2], ws[3], ws[1], ws[0],
                                static_cast<const T*>(s.packed_weight)};
    if (is_pointwise(s)) {  // every pixel is a row already
      multiply<T>(g.pixels(), k, c, DenseRows<T>{x + group * c, s.c, s.k}, right, out);
    } else {
      multiply<T>(g.pixels(), k, g.inner(), GatheredRows<T>{g, x + group * c}, right, out);
    }
  });
}

// Pixels of the input are taken by their remainder modulo the stride, a phase: all pixels of a
// phase were read through the same taps, so each phase is one product. Phases without taps are
// products of length 0, which write 0.
template <class T>
void grad_input(const Conv2dShape& s, const T* grad_y, const T* weight, T* grad_x) {
  if constexpr (std::is_same_v<T, float>) {
    if (use_winograd<T>(s)) {  // a convolution of grad_y with the window rotated by 180 degrees
      const int64_t* ws = s.weight_strides;
      const WinogradShape shape{s.n, s.k, s.oh, s.ow, s.c, s.h, s.w, 2 - s.pad_h, 2 - s.pad_w,
                                -ws[2], -ws[3], ws[0], ws[1]};
      return winograd_forward_kernel.on(DeviceType::kCPU)(
          shape, grad_y, weight + 2 * ws[2] + 2 * ws[3], Conv2dEpilogue{}, grad_x);
    }
  }
  const int64_t c = s.c / s.groups, k = s.k / s.groups;
  const int64_t* ws = s.weight_strides;
  for (int64_t phase = 0; phase < s.stride_h * s.stride_w; ++phase) {
    const Gather g{s.n,
                   gradient_axis(s.h, s.oh, s.kh, s.stride_h, s.pad_h, s.dilation_h,
                                 phase / s.stride_w),
                   gradient_axis(s.w, s.ow, s.kw, s.stride_w, s.pad_w, s.dilation_w,
                                 phase % s.stride_w),
                   s.k, s.c, k};
    if (is_narrow_grouped<T>(s)) {
      grouped_product(g, grad_y, weight, ws[2], ws[3], k * ws[0], ws[1], ws[0],
                      Output<T>{.c = grad_x});
      continue;
    }
    for_each_group(s, [&](int64_t group) {
      Output<T> out;
      out.c = grad_x + group * c;
      const T* from = grad_y + group * k;
      const WeightPanels<T> right{g, weight + group * k * ws[0], ws[2], ws[3], ws[0], ws[1]};
      if (is_pointwise(s)) {
        multiply<T>(g.pixels(), c, k, DenseRows<T>{from, s.k, s.c}, right, out);
      } else {
        multiply<T>(g.pixels(), c, g.inner(), GatheredRows<T>{g, from}, right, out);
      }
    });
  }
}

// Copies pay where a weight is large beside the pictures: packing it is then a good part of the work.
size_t pack_weight(DType dtype, const Conv2dShape& s, const void* weight, void* to) {
  constexpr int64_t kMostTiles = 256, kMostPixelsPerResult = 4, kLeastFloats = 1 << 14;
  if (dtype != DType::kF32 || s.groups != 1) return 0;
  const float* const w = static_cast<const float*>(weight);
  float* const out = static_cast<float*>(to);
  int64_t floats = 0;
  if (use_winograd<float>(s)) {
    if (s.n * ((s.oh + 3) / 4) * ((s.ow + 3) / 4) > kMostTiles) return 0;
    floats = winograd_windows_kernel.on(DeviceType::kCPU)(forward_winograd(s), w, out);
  } else {
    const Gather g = forward_gather(s);
    const int64_t* ws = s.weight_strides;
    if (g.pixels() > kMostPixelsPerResult * s.k) return 0;
    floats = packed_size<float>(s.k, g.inner());
    if (out != nullptr && floats >= kLeastFloats) {
      const WeightPanels<float> right{g, w, ws[2], ws[3], ws[1], ws[0]};
      pack_whole(right, s.k, g.inner(), out);
    }
  }
  return floats < kLeastFloats ? 0 : static_cast<size_t>(floats) * sizeof(float);
}

void conv2d_forward(DType dtype, const Conv2dShape& s, const void* x, const void* weight,
                    const Conv2dEpilogue& epilogue, void* y) {
  if (dtype == DType::kF64) {
    return forward(s, static_cast<const double*>(x), static_cast<const double*>(weight), epilogue,
                   static_cast<double*>(y));
  }
  forward(s, static_cast<const float*>(x), static_cast<const float*>(weight), epilogue,
          static_cast<float*>(y));
}

void conv2d_grad_input(DType dtype, const Conv2dShape& s, const void* grad_y, const void* weight,
                       void* grad_x) {
  if (dtype == DType::kF64) {
    return grad_input(s, static_cast<const double*>(grad_y), static_cast<const double*>(weight),
                      static_cast<double*>(grad_x));
  }
  grad_input(s, static_cast<const float*>(grad_y), static_cast<const float*>(weight),
             static_cast<float*>(grad_x));
}

}  // namespace

ZOO_REGISTER_CPU(conv2d_forward_kernel, &conv2d_forward);
ZOO_REGISTER_CPU(conv2d_pack_weight_kernel, &pack_weight);
ZOO_REGISTER_CPU(conv2d_grad_input_kernel, &conv2d_grad_input);

}  // namespace zoo
