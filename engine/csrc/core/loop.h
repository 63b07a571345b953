// How pointwise kernels walk strided operands: axes merged where memory allows, the smallest
// steps innermost.
#pragma once

#include <initializer_list>

#include "core/tensor.h"

namespace zoo {

inline constexpr int kMaxOperands = 4;

struct LoopPlan {
  int operands = 0;
  int ndim = 0;  // at least 1; axis 0 is the innermost
  int64_t numel = 0;
  int64_t shape[kMaxDims];
  char* data[kMaxOperands];
  int64_t strides[kMaxOperands][kMaxDims];  // in bytes
  // Operands of which there is one element, in the host's memory, while the output is elsewhere:
  // their data is null and the element here.
  bool constant[kMaxOperands] = {};
  Bits128 value[kMaxOperands];
};

// Operands broadcast to `shape`; the first is the output and decides the order of the walk. All are
// on its device but single numbers of the host's; kernels that this thread launches go there.
LoopPlan make_loop(const Dims& shape, std::initializer_list<const Tensor*> operands);

}  // namespace zoo
