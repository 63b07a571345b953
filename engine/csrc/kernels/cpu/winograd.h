// Winograd's minimal filtering for 3x3 windows of stride 1, as kernels of their own that the
// convolution kernels choose between (Lavin and Gray, "Fast algorithms for convolutional neural
// networks", arXiv:1509.09308). float32 only.
#pragma once

#include <cstdint>

#include "core/dispatch.h"

namespace zoo {

// y[n, oh, ow, k] = sum over taps and c of x[n, oh - pad_h + i, ow - pad_w + j, c] times the
// weight's element i * row + j * column + c * depth + k * result (strides may be negative: a
// rotated window).
struct WinogradShape {
  int64_t n, c, h, w;
  int64_t k, oh, ow;
  int64_t pad_h, pad_w;
  int64_t row, column, depth, result;
  const float* windows = nullptr;  // what winograd_windows_kernel made of the weight
};

struct Conv2dEpilogue;

extern Kernel<void(const WinogradShape&, const float* x, const float* weight,
                   const Conv2dEpilogue&, float* y)>
    winograd_forward_kernel;
// The number of floats of the transformed windows; writes them unless `windows` is null.
extern Kernel<int64_t(const WinogradShape&, const float* weight, float* windows)>
    winograd_windows_kernel;
extern Kernel<void(const WinogradShape&, const float* x, const float* grad_y, float* grad_weight)>
    winograd_grad_weight_kernel;

}  // namespace zoo
