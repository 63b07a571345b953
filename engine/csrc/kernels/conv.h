// Two-dimensional convolution (cross-correlation, as everywhere in deep learning).
#pragma once

#include <cstdint>

#include "core/dispatch.h"
#include "core/dtype.h"

namespace zoo {

// Pictures are dense NHWC: x[n, h, w, c], y[n, oh, ow, k]. The weight is logical
// [k, c / groups, kh, kw] with the strides given (in elements), dense in some order.
struct Conv2dShape {
  int64_t n, c, h, w;    // input
  int64_t k, kh, kw;     // output channels, window
  int64_t oh, ow;        // output
  int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups;
  int64_t weight_strides[4];  // of k, c, kh, kw
  const void* packed_weight = nullptr;  // what conv2d_pack_weight_kernel made of the weight
};

// y = conv(x, weight) (* scale[k]) (+ bias[k]) (+ residual, laid out as y), then ReLU if asked. scale
// and bias are float32 where x is of 16 bits.
struct Conv2dEpilogue {
  const void* scale = nullptr;
  const void* bias = nullptr;
  const void* residual = nullptr;
  bool relu = false;
};

extern Kernel<void(DType, const Conv2dShape&, const void* x, const void* weight,
                   const Conv2dEpilogue&, void* y)>
    conv2d_forward_kernel;
// How many bytes a copy of the weight has in the order in which the forward kernel reads it for such
// pictures, or 0 if there is none that pays. Writes it unless `to` is null.
extern Kernel<size_t(DType, const Conv2dShape&, const void* weight, void* to)>
    conv2d_pack_weight_kernel;
// Gradient of x; pixels that no window read get 0.
extern Kernel<void(DType, const Conv2dShape&, const void* grad_y, const void* weight,
                   void* grad_x)>
    conv2d_grad_input_kernel;
// Gradient of the weight, written with the weight's strides.
extern Kernel<void(DType, const Conv2dShape&, const void* x, const void* grad_y,
                   void* grad_weight)>
    conv2d_grad_weight_kernel;

}  // namespace zoo
