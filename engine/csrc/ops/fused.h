// What operations with fused kernels share.
#pragma once

#include "autograd/node.h"

namespace zoo {

inline void check_floating(const char* op, const Tensor& x) {
  check<TypeError>(is_floating(x.dtype()), op, ": expected a floating-point tensor, got ",
                   describe(x), "; convert it with x.astype(engine.float32)");
}

// Fused kernels compute in float32 and float64; 16-bit tensors go through float32.
inline bool is_narrow(DType dtype) { return itemsize(dtype) == 2; }

inline Tensor empty_channels_last(const Dims& s, const Tensor& like) {
  return empty_strided(s, {s[1] * s[2] * s[3], 1, s[1] * s[3], s[1]}, like.dtype(), like.device());
}

}  // namespace zoo
