#include "kernels/pointwise.h"

namespace zoo {

#define ZOO_UNARY(name, ...)                    \
  constinit UnaryKernel name##_kernel(#name);   \
  constinit UnaryGradKernel name##_grad_kernel(#name "_grad");
#define ZOO_UNARY_PARAM ZOO_UNARY
#define ZOO_PREDICATE(name, ...) constinit UnaryKernel name##_kernel(#name);
#define ZOO_BINARY(name, ...) constinit BinaryKernel name##_kernel(#name);
#define ZOO_COMPARE ZOO_BINARY
#define ZOO_BITWISE ZOO_BINARY
#include "ops/pointwise.def"

constinit Kernel<void(const LoopPlan&, DType)> where_kernel("where");
constinit Kernel<void(const LoopPlan&, DType, DType)> copy_kernel("copy");
constinit Kernel<void(const LoopPlan&, DType, const void*)> fill_kernel("fill");

}  // namespace zoo
