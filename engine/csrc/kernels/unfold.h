// Windows of pictures as columns, and back. Everything is dense NCHW; float32 and float64.
#pragma once

#include <cstdint>

#include "core/dispatch.h"
#include "core/dtype.h"

namespace zoo {

struct UnfoldShape {
  int64_t planes;  // N * C
  int64_t h, w, kh, kw, oh, ow;
  int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
};

// columns[plane, i, j, oy, ox] = x[plane, oy * stride - pad + i * dilation, ...], 0 outside.
extern Kernel<void(DType, const UnfoldShape&, const void* x, void* columns)> unfold_kernel;
// The transpose: x[plane, ...] = the sum of the columns that were read there.
extern Kernel<void(DType, const UnfoldShape&, const void* columns, void* x)> fold_kernel;

}  // namespace zoo
