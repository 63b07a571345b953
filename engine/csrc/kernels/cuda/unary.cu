// Unary pointwise kernels, from ops/pointwise.def.
#include "kernels/cpu/pointwise_math.h"
#include "kernels/cuda/elements.h"
#include "kernels/pointwise.h"

namespace zoo::cuda {
namespace {

enum Domain { NUMBERS, FLOATS };

template <Domain D, class F>
void visit(DType dtype, F f) {
  if constexpr (D == NUMBERS) {
    visit_arithmetic(dtype, f);
  } else {
    visit_floating_arithmetic(dtype, f);
  }
}

#define ZOO_UNARY(name, forward, gradient, saves, domain, doc)                            \
  struct name##_forward {                                                                 \
    double p, q;                                                                          \
    template <class C>                                                                    \
    __device__ C operator()(C value) const {                                              \
      const Num<C> x{value};                                                              \
      return (forward).v;                                                                 \
    }                                                                                     \
  };                                                                                      \
  void name##_cuda(const LoopPlan& plan, DType dtype, double p, double q) {               \
    visit<domain>(dtype, [&]<class C>() {                                                 \
      launch_pointwise<C, 1>(plan, dtype, dtype, name##_forward{p, q});                   \
    });                                                                                   \
  }
#define ZOO_UNARY_PARAM ZOO_UNARY
#include "ops/pointwise.def"

}  // namespace
}  // namespace zoo::cuda

#define ZOO_UNARY(name, ...) ZOO_REGISTER_CUDA(name##_kernel, &zoo::cuda::name##_cuda);
#define ZOO_UNARY_PARAM ZOO_UNARY
#include "ops/pointwise.def"
