// One pass over pieces of memory, all of one dtype. All floating-point dtypes; arithmetic in float
// or wider.
#pragma once

#include <cstdint>

#include "core/dispatch.h"
#include "core/dtype.h"

namespace zoo {

// n elements of a parameter, its gradient and its state; what a kernel does not use may be null.
struct OptimPiece {
  void* param;
  const void* grad = nullptr;
  void* mean = nullptr;  // SGD: the momentum's buffer, null where momentum is 0
  void* square = nullptr;
  int64_t n = 0;
};

struct SgdRule {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, first;  // first: the buffers are not yet filled
};
extern Kernel<void(DType, const SgdRule&, const OptimPiece* pieces, int64_t count)> sgd_kernel;

struct AdamRule {
  double lr, beta1, beta2, eps, weight_decay;
  double correction1, correction2;  // 1 - beta ^ step
  bool decoupled;
};
extern Kernel<void(DType, const AdamRule&, const OptimPiece* pieces, int64_t count)> adam_kernel;

// Of what `param` points to.
extern Kernel<double(DType, const OptimPiece* pieces, int64_t count)> sum_squares_kernel;
extern Kernel<void(DType, double factor, const OptimPiece* pieces, int64_t count)> scale_kernel;

}  // namespace zoo
