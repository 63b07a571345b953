// Gradients of the unary pointwise operations, from ops/pointwise.def.
#include "kernels/cpu/pointwise_math.h"
#include "kernels/cuda/elements.h"
#include "kernels/pointwise.h"

namespace zoo::cuda {
namespace {

#define ZOO_UNARY(name, forward, gradient, saves, domain, doc)                            \
  struct name##_gradient {                                                                \
    double p, q;                                                                          \
    template <class C>                                                                    \
    __device__ C operator()(C x_value, C y_value, C g_value) const {                      \
      [[maybe_unused]] const Num<C> x{x_value}, y{y_value}, g{g_value};                   \
      return (gradient).v;                                                                \
    }                                                                                     \
  };                                                                                      \
  void name##_grad_cuda(const LoopPlan& plan, DType dtype, double p, double q) {          \
    visit_floating_arithmetic(dtype, [&]<class C>() {                                     \
      launch_pointwise<C, 3>(plan, dtype, dtype, name##_gradient{p, q});                  \
    });                                                                                   \
  }
#define ZOO_UNARY_PARAM ZOO_UNARY
#include "ops/pointwise.def"

}  // namespace
}  // namespace zoo::cuda

#define ZOO_UNARY(name, ...) \
  ZOO_REGISTER_CUDA(name##_grad_kernel, &zoo::cuda::name##_grad_cuda);
#define ZOO_UNARY_PARAM ZOO_UNARY
#include "ops/pointwise.def"
