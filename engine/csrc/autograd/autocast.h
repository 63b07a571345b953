// Mixed precision: inside engine.autocast, products and convolutions of float32 are computed in a
// 16-bit dtype, and what is sensitive to rounding stays in float32 (Micikevicius et al.,
// arXiv:1710.03740). Weights keep their float32; the casts are part of the graph.
#pragma once

#include <array>
#include <optional>

#include "core/device.h"
#include "core/dtype.h"

namespace zoo {

// By kind of device, what this thread's products there are computed in, if autocast is on.
using AutocastDtypes = std::array<std::optional<DType>, kNumDeviceTypes>;
AutocastDtypes& autocast_dtypes();

inline std::optional<DType> autocast_dtype(DeviceType device) {
  return autocast_dtypes()[static_cast<size_t>(device)];
}

// No autocasting while it lives: gradients are computed in the dtypes of the forward pass.
class AutocastOff {
 public:
  AutocastOff() : before_(autocast_dtypes()) { autocast_dtypes() = {}; }
  ~AutocastOff() { autocast_dtypes() = before_; }
  AutocastOff(const AutocastOff&) = delete;

 private:
  AutocastDtypes before_;
};

}  // namespace zoo
