// Binary pointwise kernels, from ops/pointwise.def.
#include "kernels/cpu/domain.h"
#include "kernels/cpu/loop.h"
#include "kernels/cpu/pointwise_math.h"
#include "kernels/pointwise.h"

namespace zoo {
namespace {

template <class T, class Out, class F>
ZOO_INLINE void binary_loop(const LoopPlan& plan, F f) {
  using C = ComputeType<T>;
  run_loop(plan, [f](char* const* data, const int64_t* strides, int64_t n) {
    const int64_t so = strides[0], sa = strides[1], sb = strides[2];
    Out* out = reinterpret_cast<Out*>(data[0]);
    const T* a = reinterpret_cast<const T*>(data[1]);
    const T* b = reinterpret_cast<const T*>(data[2]);
    // No restrict: an in-place operation has out on a, element by element.
    if (so == sizeof(Out) && sa == sizeof(T) && sb == sizeof(T)) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = static_cast<Out>(f(C(a[i]), C(b[i])));
    } else if (so == sizeof(Out) && sa == sizeof(T) && sb == 0) {
      const C value = C(b[0]);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = static_cast<Out>(f(C(a[i]), value));
    } else if (so == sizeof(Out) && sa == 0 && sb == sizeof(T)) {
      const C value = C(a[0]);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = static_cast<Out>(f(value, C(b[i])));
    } else {
      for (int64_t i = 0; i < n; ++i) {
        const T x = *reinterpret_cast<const T*>(data[1] + i * sa);
        const T y = *reinterpret_cast<const T*>(data[2] + i * sb);
        *reinterpret_cast<Out*>(data[0] + i * so) = static_cast<Out>(f(C(x), C(y)));
      }
    }
  });
}

#define ZOO_BINARY(name, forward, grad_a, grad_b, saves, domain, doc)        \
  void name##_cpu(const LoopPlan& plan, DType dtype) {                       \
    visit_domain<domain>(dtype, [&]<class T>() {                             \
      using C = ComputeType<T>;                                              \
      binary_loop<T, T>(plan, [](C a_value, C b_value) {                     \
        const Num<C> a{a_value}, b{b_value};                                 \
        return (forward).v;                                                  \
      });                                                                    \
    });                                                                      \
  }
#define ZOO_BITWISE(name, expression, doc)                                   \
  void name##_cpu(const LoopPlan& plan, DType dtype) {                       \
    const auto run = [&]<class T>() {                                        \
      binary_loop<T, T>(plan, [](T a, T b) { return expression; });          \
    };                                                                       \
    if (is_bool(dtype)) {                                                    \
      run.template operator()<bool>();                                       \
    } else {                                                                 \
      visit_integers(dtype, run);                                            \
    }                                                                        \
  }
#include "ops/pointwise.def"

}  // namespace

#define ZOO_BINARY(name, ...) ZOO_REGISTER_CPU(name##_kernel, &name##_cpu);
#define ZOO_BITWISE ZOO_BINARY
#include "ops/pointwise.def"

}  // namespace zoo
