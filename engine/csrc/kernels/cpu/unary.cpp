// Unary pointwise kernels and their gradients, from ops/pointwise.def.
#include <string_view>

#include "kernels/cpu/domain.h"
#include "kernels/cpu/rows.h"
#include "kernels/pointwise.h"

namespace zoo {
namespace {

// Whether an expression calls the sine or cosine, which in float are accurate up to a limit only.
constexpr bool is_trigonometric(std::string_view expression) {
  for (const std::string_view call : {"sin(", "cos("}) {
    for (size_t at = 0; at + call.size() <= expression.size(); ++at) {
      const char before = at == 0 ? ' ' : expression[at - 1];
      if (expression.substr(at, call.size()) == call && (before < 'a' || before > 'z')) return true;
    }
  }
  return false;
}

// out[i] = f(x[i], others[i]...) for i < n, in C; in double where a row with kTrigonometric has an
// argument x beyond the limit in the block.
template <bool kTrigonometric, class C, class F, class... Other>
ZOO_INLINE void in_accurate_type(C* out, int64_t n, F f, const C* x, const Other*... others) {
  // No restrict: an in-place operation has out on x, element by element.
  const auto run = [=]<class A>(A, int64_t begin, int64_t end) ZOO_ALWAYS {
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) {
      out[i] = static_cast<C>(f(static_cast<A>(x[i]), static_cast<A>(others[i])...));
    }
  };
  if constexpr (kTrigonometric && std::is_same_v<C, float>) {
    for (int64_t begin = 0; begin < n; begin += kRowBlock) {
      const int64_t end = std::min(n, begin + kRowBlock);
      int beyond = 0;
      for (int64_t i = begin; i < end; ++i) beyond |= std::fabs(x[i]) > kTrigonometryLimit;
      beyond ? run(double{}, begin, end) : run(float{}, begin, end);
    }
  } else {
    run(C{}, int64_t{0}, n);
  }
}

#define ZOO_UNARY(name, forward, gradient, saves, domain, doc)                                  \
  template <class C>                                                                            \
  void name##_row(C* out, const C* const* in, int64_t n, double p, double q) {                  \
    in_accurate_type<is_trigonometric(#forward)>(                                               \
        out, n, [p, q]<class A>(A value) ZOO_ALWAYS {                                           \
          const Num<A> x{value};                                                                \
          return (forward).v;                                                                   \
        }, in[0]);                                                                              \
  }                                                                                             \
  template <class C>                                                                            \
  void name##_grad_row(C* out, const C* const* in, int64_t n, double p, double q) {             \
    in_accurate_type<is_trigonometric(#gradient)>(                                              \
        out, n, [p, q]<class A>(A x_value, A y_value, A g_value) ZOO_ALWAYS {                   \
          [[maybe_unused]] const Num<A> x{x_value}, y{y_value}, g{g_value};                     \
          return (gradient).v;                                                                  \
        }, in[0], in[1], in[2]);                                                                \
  }                                                                                             \
  void name##_cpu(const LoopPlan& plan, DType dtype, double p, double q) {                      \
    visit_domain<domain>(dtype, [&]<class T>() {                                                \
      run_rows<T, T, 1>(plan, &name##_row<ComputeType<T>>, p, q);                               \
    });                                                                                         \
  }                                                                                             \
  void name##_grad_cpu(const LoopPlan& plan, DType dtype, double p, double q) {                 \
    visit_floating(dtype, [&]<class T>() {                                                      \
      run_rows<T, T, 3>(plan, &name##_grad_row<ComputeType<T>>, p, q);                          \
    });                                                                                         \
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
