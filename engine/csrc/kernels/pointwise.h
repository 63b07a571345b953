// Tables of the pointwise kernels, one per row of ops/pointwise.def.
#pragma once

#include "core/dispatch.h"
#include "core/loop.h"

namespace zoo {

// Operands: out, x. `dtype` is that of both (a predicate's out is bool).
using UnaryKernel = Kernel<void(const LoopPlan&, DType, double p, double q)>;
// Operands: gradient out, x, y, g; a rule that does not read x or y may be given g there.
using UnaryGradKernel = Kernel<void(const LoopPlan&, DType, double p, double q)>;
// Operands: out, a, b, of one dtype (a comparison's out is bool).
using BinaryKernel = Kernel<void(const LoopPlan&, DType)>;

#define ZOO_UNARY(name, ...)        \
  extern UnaryKernel name##_kernel; \
  extern UnaryGradKernel name##_grad_kernel;
#define ZOO_UNARY_PARAM ZOO_UNARY
#define ZOO_PREDICATE(name, ...) extern UnaryKernel name##_kernel;
#define ZOO_BINARY(name, ...) extern BinaryKernel name##_kernel;
#define ZOO_COMPARE ZOO_BINARY
#define ZOO_BITWISE ZOO_BINARY
#include "ops/pointwise.def"

// Operands: out, condition (bool), a, b; a and b of one dtype.
extern Kernel<void(const LoopPlan&, DType)> where_kernel;
// Operands: destination, source. Converts between any two dtypes.
extern Kernel<void(const LoopPlan&, DType to, DType from)> copy_kernel;
// Operand: destination; `value` points at one element of that dtype.
extern Kernel<void(const LoopPlan&, DType, const void* value)> fill_kernel;

}  // namespace zoo
