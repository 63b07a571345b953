// What operations with fused kernels share.
#pragma once

#include "autograd/autocast.h"
#include "autograd/node.h"
#include "ops/ops.h"

namespace zoo {

inline void check_floating(const char* op, const Tensor& x) {
  check<TypeError>(is_floating(x.dtype()), op, ": expected a floating-point tensor, got ",
                   describe(x), "; convert it with x.astype(engine.float32)");
}

inline bool is_narrow(DType dtype) { return is_floating(dtype) && itemsize(dtype) == 2; }
// What sums are kept in, and numbers by channel: float32 for 16-bit tensors.
inline DType wide_dtype(DType dtype) { return is_narrow(dtype) ? DType::kF32 : dtype; }
// Whether kernels read and write the dtype itself. On the CPU 16-bit tensors go through float32.
inline bool has_kernels(DType dtype, Device device) {
  return is_floating(dtype) && (!is_narrow(dtype) || device.type != DeviceType::kCPU);
}

// An operand of a product: in autocast's dtype, if that is on and it has fewer than 64 bits.
inline Tensor autocast_narrow(const Tensor& t) {
  if (!t.defined()) return t;
  const auto dtype = autocast_dtype(t.device().type);
  const bool takes = dtype && (t.dtype() == DType::kF32 || is_narrow(t.dtype()));
  return takes ? astype(t, *dtype) : t;
}
// The dtype of a loss or of probabilities of x: where autocast is on they keep their float32.
inline DType loss_dtype(const Tensor& x) {
  return autocast_dtype(x.device().type) ? wide_dtype(x.dtype()) : x.dtype();
}

inline Tensor empty_channels_last(const Dims& s, const Tensor& like) {
  return empty_strided(s, {s[1] * s[2] * s[3], 1, s[1] * s[3], s[1]}, like.dtype(), like.device());
}

}  // namespace zoo
