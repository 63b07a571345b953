// Unary pointwise kernels and their gradients, from ops/pointwise.def.
#include "kernels/cpu/domain.h"
#include "kernels/cpu/loop.h"
#include "kernels/cpu/pointwise_math.h"
#include "kernels/pointwise.h"

namespace zoo {
namespace {

template <class T, class F>
ZOO_INLINE void unary_loop(const LoopPlan& plan, F f) {
  using C = ComputeType<T>;
  run_loop(plan, [f](char* const* data, const int64_t* strides, int64_t n) {
    if (strides[0] == sizeof(T) && strides[1] == sizeof(T)) {
      // No restrict: an in-place operation has both on one array, element by element.
      T* out = reinterpret_cast<T*>(data[0]);
      const T* x = reinterpret_cast<const T*>(data[1]);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(f(static_cast<C>(x[i])));
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      const T x = *reinterpret_cast<const T*>(data[1] + i * strides[1]);
      *reinterpret_cast<T*>(data[0] + i * strides[0]) = static_cast<T>(f(static_cast<C>(x)));
    }
  });
}

template <class T, class F>
ZOO_INLINE void unary_grad_loop(const LoopPlan& plan, F f) {
  using C = ComputeType<T>;
  run_loop(plan, [f](char* const* data, const int64_t* strides, int64_t n) {
    const bool dense = strides[0] == sizeof(T) && strides[1] == sizeof(T) &&
                       strides[2] == sizeof(T) && strides[3] == sizeof(T);
    if (dense) {
      T* out = reinterpret_cast<T*>(data[0]);
      const T* x = reinterpret_cast<const T*>(data[1]);
      const T* y = reinterpret_cast<const T*>(data[2]);
      const T* g = reinterpret_cast<const T*>(data[3]);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        out[i] = static_cast<T>(
            f(static_cast<C>(x[i]), static_cast<C>(y[i]), static_cast<C>(g[i])));
      }
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      const auto at = [&](int o) {
        return static_cast<C>(*reinterpret_cast<const T*>(data[o] + i * strides[o]));
      };
      *reinterpret_cast<T*>(data[0] + i * strides[0]) = static_cast<T>(f(at(1), at(2), at(3)));
    }
  });
}

#define ZOO_UNARY(name, forward, gradient, saves, domain, doc)                               \
  void name##_cpu(const LoopPlan& plan, DType dtype, double p, double q) {                   \
    visit_domain<domain>(dtype, [&]<class T>() {                                             \
      using C = ComputeType<T>;                                                              \
      unary_loop<T>(plan, [p, q](C value) {                                                  \
        const Num<C> x{value};                                                               \
        return (forward).v;                                                                  \
      });                                                                                    \
    });                                                                                      \
  }                                                                                          \
  void name##_grad_cpu(const LoopPlan& plan, DType dtype, double p, double q) {              \
    visit_floating(dtype, [&]<class T>() {                                                   \
      using C = ComputeType<T>;                                                              \
      unary_grad_loop<T>(plan, [p, q](C x_value, C y_value, C g_value) {                     \
        [[maybe_unused]] const Num<C> x{x_value}, y{y_value}, g{g_value};                    \
        return (gradient).v;                                                                 \
      });                                                                                    \
    });                                                                                      \
  }
#define ZOO_UNARY_PARAM ZOO_UNARY
#include "ops/pointwise.def"

}  // namespace

#define ZOO_UNARY(name, ...)                       \
  ZOO_REGISTER_CPU(name##_kernel, &name##_cpu);    \
  ZOO_REGISTER_CPU(name##_grad_kernel, &name##_grad_cpu);
#define ZOO_UNARY_PARAM ZOO_UNARY
#include "ops/pointwise.def"

}  // namespace zoo
