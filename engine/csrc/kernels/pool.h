// Pooling of dense NHWC pictures. float32 and float64.
#pragma once

#include <cstdint>

#include "core/dispatch.h"
#include "core/dtype.h"

namespace zoo {

// The windows along one axis. Window o reads begin[o], begin[o] + step, ... below end[o], clipped
// to the picture; its sum is divided by divisor[o]. Position i lies only in windows
// [first[i], last[i]) (with a step above 1, not in all of these). The tables are in the host's
// memory on every device.
struct PoolAxis {
  int64_t in = 0, out = 0, step = 1;
  const int32_t *begin = nullptr, *end = nullptr, *divisor = nullptr;  // `out` numbers each
  const int32_t *first = nullptr, *last = nullptr;                     // `in` numbers each
};

struct PoolShape {
  int64_t n = 0, c = 0;
  PoolAxis h, w;
};

// The largest of each window (NaN if any is), and where it lies: row * w.in + column.
extern Kernel<void(DType, const PoolShape&, const void* x, void* y, int32_t* where)>
    max_pool_kernel;
extern Kernel<void(DType, const PoolShape&, const void* grad, const int32_t* where, void* grad_x)>
    max_pool_grad_kernel;
// Sum of each window over the product of the two divisors.
extern Kernel<void(DType, const PoolShape&, const void* x, void* y)> avg_pool_kernel;
extern Kernel<void(DType, const PoolShape&, const void* grad, void* grad_x)> avg_pool_grad_kernel;

}  // namespace zoo
