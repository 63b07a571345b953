// Runs a body over the innermost rows of a LoopPlan, on several threads.
#pragma once

#include <algorithm>

#include "core/loop.h"
#include "core/parallel.h"

namespace zoo {
namespace {

// Elements below which starting another thread costs more than it saves.
constexpr int64_t kPointwiseGrain = 16384;

// body(char* const* data, const int64_t* strides, int64_t n): n elements of each operand, from
// data[o], strides[o] bytes apart.
template <class Body>
[[gnu::always_inline]] inline void run_loop(const LoopPlan& plan, Body body) {
  int64_t steps[kMaxOperands] = {};
  for (int o = 0; o < plan.operands; ++o) steps[o] = plan.strides[o][0];
  if (plan.ndim == 1 && plan.numel <= kPointwiseGrain) {
    if (plan.numel > 0) body(plan.data, steps, plan.numel);
    return;
  }
  parallel_for(0, plan.numel, kPointwiseGrain, [&](int64_t begin, int64_t end) {
    // Position of `begin`, then row by row; the first and last row may be partial.
    int64_t index[kMaxDims];
    int64_t rest = begin;
    for (int d = 0; d < plan.ndim; ++d) {
      index[d] = rest % plan.shape[d];
      rest /= plan.shape[d];
    }
    for (int64_t at = begin; at < end;) {
      char* data[kMaxOperands];
      for (int o = 0; o < plan.operands; ++o) {
        int64_t offset = 0;
        for (int d = 0; d < plan.ndim; ++d) offset += index[d] * plan.strides[o][d];
        data[o] = plan.data[o] + offset;
      }
      const int64_t n = std::min(plan.shape[0] - index[0], end - at);
      body(data, steps, n);
      at += n;
      index[0] = 0;
      for (int d = 1; d < plan.ndim; ++d) {
        if (++index[d] < plan.shape[d]) break;
        index[d] = 0;
      }
    }
  });
}

}  // namespace
}  // namespace zoo
