// Binary pointwise kernels, from ops/pointwise.def.
#include "kernels/cpu/domain.h"
#include "kernels/cpu/rows.h"
#include "kernels/pointwise.h"

namespace zoo {
namespace {

// out[i] = f(a[i], b[i]).
template <class C, class F>
ZOO_INLINE void binary_row(C* out, const C* const* in, int64_t n, F f) {
  // No restrict: an in-place operation has out on a, element by element.
  const C *a = in[0], *b = in[1];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
}

#define ZOO_BINARY(name, forward, grad_a, grad_b, saves, domain, doc)        \
  template <class C>                                                         \
  void name##_row(C* out, const C* const* in, int64_t n, double, double) {   \
    binary_row(out, in, n, [](C a_value, C b_value) ZOO_ALWAYS {             \
      const Num<C> a{a_value}, b{b_value};                                   \
      return (forward).v;                                                    \
    });                                                                      \
  }                                                                          \
  void name##_cpu(const LoopPlan& plan, DType dtype) {                       \
    visit_domain<domain>(dtype, [&]<class T>() {                             \
      run_rows<T, T, 2>(plan, &name##_row<ComputeType<T>>);                  \
    });                                                                      \
  }
#define ZOO_BITWISE(name, expression, doc)                                   \
  template <class T>                                                         \
  void name##_row(T* out, const T* const* in, int64_t n, double, double) {   \
    binary_row(out, in, n, [](T a, T b) ZOO_ALWAYS {                         \
      return static_cast<T>(expression);                                     \
    });                                                                      \
  }                                                                          \
  void name##_cpu(const LoopPlan& plan, DType dtype) {                       \
    const auto run = [&]<class T>() {                                        \
      run_rows<T, T, 2>(plan, &name##_row<T>);                               \
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
