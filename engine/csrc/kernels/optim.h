// One pass over a piece of one parameter. All floating-point dtypes; arithmetic in float or wider.
#pragma once

#include <cstdint>

#include "core/dispatch.h"
#include "core/dtype.h"

namespace zoo {

// Pieces of this many elements are one unit of work and of summation.
inline constexpr int64_t kOptimBlock = 16384;

struct SgdRule {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, first;  // first: the buffers are not yet filled
};
// buffer is null where momentum is 0.
extern Kernel<void(DType, const SgdRule&, void* param, const void* grad, void* buffer, int64_t n)>
    sgd_kernel;

struct AdamRule {
  double lr, beta1, beta2, eps, weight_decay;
  double correction1, correction2;  // 1 - beta ^ step
  bool decoupled;
};
extern Kernel<void(DType, const AdamRule&, void* param, const void* grad, void* mean, void* square,
                   int64_t n)>
    adam_kernel;

extern Kernel<double(DType, const void* x, int64_t n)> sum_squares_kernel;
extern Kernel<void(DType, double factor, void* x, int64_t n)> scale_kernel;

}  // namespace zoo
