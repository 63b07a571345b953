// Unary pointwise kernels and their gradients, from ops/pointwise.def.
#include <string_view>

#include "kernels/cpu/domain.h"
#include "kernels/cpu/loop.h"
#include "kernels/cpu/pointwise_math.h"
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

// Calls body(begin, end, compute) over [0, n) where x(i) is the float argument of element i and
// `compute` has the type in which f is accurate there: double for the blocks of a row with
// kTrigonometric in which an argument is beyond the limit.
template <bool kTrigonometric, class C, class X, class Body>
ZOO_INLINE void in_accurate_type(int64_t n, X x, Body body) {
  if constexpr (kTrigonometric && std::is_same_v<C, float>) {
    constexpr int64_t kBlock = 256;
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t end = std::min(n, begin + kBlock);
      int beyond = 0;
      for (int64_t i = begin; i < end; ++i) beyond |= std::fabs(x(i)) > kTrigonometryLimit;
      if (beyond) {
        body(begin, end, double{});
      } else {
        body(begin, end, float{});
      }
    }
  } else {
    body(int64_t{0}, n, C{});
  }
}

// f takes and gives a number of any floating type.
template <class T, bool kTrigonometric, class F>
ZOO_INLINE void unary_loop(const LoopPlan& plan, F f) {
  using C = ComputeType<T>;
  run_loop(plan, [f](char* const* data, const int64_t* strides, int64_t n) {
    if (strides[0] == sizeof(T) && strides[1] == sizeof(T)) {
      // No restrict: an in-place operation has both on one array, element by element.
      T* out = reinterpret_cast<T*>(data[0]);
      const T* x = reinterpret_cast<const T*>(data[1]);
      in_accurate_type<kTrigonometric, C>(
          n, [x](int64_t i) { return static_cast<C>(x[i]); },
          [=](int64_t begin, int64_t end, auto compute) {
            using A = decltype(compute);
#pragma GCC ivdep
            for (int64_t i = begin; i < end; ++i) {
              out[i] = static_cast<T>(static_cast<C>(f(static_cast<A>(static_cast<C>(x[i])))));
            }
          });
      return;
    }
    const auto at = [&](int64_t i) {
      return static_cast<C>(*reinterpret_cast<const T*>(data[1] + i * strides[1]));
    };
    in_accurate_type<kTrigonometric, C>(n, at, [&](int64_t begin, int64_t end, auto compute) {
      using A = decltype(compute);
      for (int64_t i = begin; i < end; ++i) {
        *reinterpret_cast<T*>(data[0] + i * strides[0]) =
            static_cast<T>(static_cast<C>(f(static_cast<A>(at(i)))));
      }
    });
  });
}

template <class T, bool kTrigonometric, class F>
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
      in_accurate_type<kTrigonometric, C>(
          n, [x](int64_t i) { return static_cast<C>(x[i]); },
          [=](int64_t begin, int64_t end, auto compute) {
            using A = decltype(compute);
            const auto as = [](T v) ZOO_ALWAYS { return static_cast<A>(static_cast<C>(v)); };
#pragma GCC ivdep
            for (int64_t i = begin; i < end; ++i) {
              out[i] = static_cast<T>(static_cast<C>(f(as(x[i]), as(y[i]), as(g[i]))));
            }
          });
      return;
    }
    const auto at = [&](int o, int64_t i) {
      return static_cast<C>(*reinterpret_cast<const T*>(data[o] + i * strides[o]));
    };
    in_accurate_type<kTrigonometric, C>(
        n, [&](int64_t i) { return at(1, i); },
        [&](int64_t begin, int64_t end, auto compute) {
          using A = decltype(compute);
          for (int64_t i = begin; i < end; ++i) {
            *reinterpret_cast<T*>(data[0] + i * strides[0]) = static_cast<T>(static_cast<C>(
                f(static_cast<A>(at(1, i)), static_cast<A>(at(2, i)), static_cast<A>(at(3, i)))));
          }
        });
  });
}

#define ZOO_UNARY(name, forward, gradient, saves, domain, doc)                               \
  void name##_cpu(const LoopPlan& plan, DType dtype, double p, double q) {                   \
    visit_domain<domain>(dtype, [&]<class T>() {                                             \
      unary_loop<T, is_trigonometric(#forward)>(plan, [p, q]<class C>(C value) ZOO_ALWAYS {  \
        const Num<C> x{value};                                                               \
        return (forward).v;                                                                  \
      });                                                                                    \
    });                                                                                      \
  }                                                                                          \
  void name##_grad_cpu(const LoopPlan& plan, DType dtype, double p, double q) {              \
    visit_floating(dtype, [&]<class T>() {                                                   \
      unary_grad_loop<T, is_trigonometric(#gradient)>(                                       \
          plan, [p, q]<class C>(C x_value, C y_value, C g_value) ZOO_ALWAYS {                \
            [[maybe_unused]] const Num<C> x{x_value}, y{y_value}, g{g_value};                \
            return (gradient).v;                                                             \
          });                                                                                \
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
