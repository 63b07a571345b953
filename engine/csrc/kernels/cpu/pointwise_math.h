// The vocabulary of ops/pointwise.def over numbers. Num<T> keeps an expression in T: a literal
// such as 0.5 becomes a T instead of dragging float arithmetic into double.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/cpu/float_math.h"

namespace zoo {
namespace {

template <class T>
struct Num {
  T v;
};

#define ZOO_ARITHMETIC(op)                                                                       \
  template <class T>                                                                             \
  ZOO_INLINE Num<T> operator op(Num<T> a, Num<T> b) { return {static_cast<T>(a.v op b.v)}; }     \
  template <class T>                                                                             \
  ZOO_INLINE Num<T> operator op(Num<T> a, double b) { return a op Num<T>{static_cast<T>(b)}; }   \
  template <class T>                                                                             \
  ZOO_INLINE Num<T> operator op(double a, Num<T> b) { return Num<T>{static_cast<T>(a)} op b; }
#define ZOO_COMPARISON(op)                                                                       \
  template <class T>                                                                             \
  ZOO_INLINE bool operator op(Num<T> a, Num<T> b) { return a.v op b.v; }                         \
  template <class T>                                                                             \
  ZOO_INLINE bool operator op(Num<T> a, double b) { return a.v op static_cast<T>(b); }
ZOO_ARITHMETIC(+)
ZOO_ARITHMETIC(-)
ZOO_ARITHMETIC(*)
ZOO_ARITHMETIC(/)
ZOO_COMPARISON(<)
ZOO_COMPARISON(<=)
ZOO_COMPARISON(>)
ZOO_COMPARISON(>=)
ZOO_COMPARISON(==)
ZOO_COMPARISON(!=)
#undef ZOO_ARITHMETIC
#undef ZOO_COMPARISON

template <class T>
ZOO_INLINE Num<T> operator-(Num<T> a) { return {static_cast<T>(-a.v)}; }
template <class T>
ZOO_INLINE Num<T> where(bool c, Num<T> a, Num<T> b) { return {c ? a.v : b.v}; }
template <class T>
ZOO_INLINE Num<T> zero(Num<T>) { return {T(0)}; }
template <class T>
ZOO_INLINE Num<T> square(Num<T> a) { return a * a; }

template <class T>
ZOO_INLINE Num<T> abs(Num<T> a) {
  if constexpr (std::is_floating_point_v<T>) {
    return {std::fabs(a.v)};
  } else if constexpr (std::is_signed_v<T>) {
    return {static_cast<T>(a.v < 0 ? -a.v : a.v)};
  } else {
    return a;
  }
}

template <class T>
ZOO_INLINE Num<T> sign(Num<T> a) {
  const T s = static_cast<T>((a.v > T(0)) - (a.v < T(0)));
  if constexpr (std::is_floating_point_v<T>) return {a.v != a.v ? a.v : s};
  return {s};
}

#define ZOO_MATH(name)                                                     \
  template <class T>                                                       \
  ZOO_INLINE Num<T> name(Num<T> a) { return {static_cast<T>(std::name(a.v))}; }
ZOO_MATH(log2)
ZOO_MATH(log10)
ZOO_MATH(sqrt)
ZOO_MATH(tan)
ZOO_MATH(asin)
ZOO_MATH(acos)
ZOO_MATH(atan)
ZOO_MATH(sinh)
ZOO_MATH(cosh)
ZOO_MATH(asinh)
ZOO_MATH(acosh)
ZOO_MATH(atanh)
#undef ZOO_MATH

// Float has a function of its own, which vectorises. On a GPU its library's are as fast.
#if defined(ZOO_CUDA_KERNELS)
#define ZOO_FAST_MATH(name, approximation)                                  \
  template <class T>                                                        \
  ZOO_INLINE Num<T> name(Num<T> a) { return {static_cast<T>(std::name(a.v))}; }
#else
#define ZOO_FAST_MATH(name, approximation)                                  \
  template <class T>                                                        \
  ZOO_INLINE Num<T> name(Num<T> a) {                                        \
    if constexpr (std::is_same_v<T, float>) return {approximation(a.v)};    \
    return {static_cast<T>(std::name(a.v))};                                \
  }
#endif
ZOO_FAST_MATH(exp, exp_approximation)
ZOO_FAST_MATH(expm1, expm1_approximation)
ZOO_FAST_MATH(log, log_approximation)
ZOO_FAST_MATH(log1p, log1p_approximation)
ZOO_FAST_MATH(tanh, tanh_approximation)
ZOO_FAST_MATH(erf, erf_approximation)
ZOO_FAST_MATH(sin, sine_approximation<0>)  // see kTrigonometryLimit
ZOO_FAST_MATH(cos, sine_approximation<1>)
#undef ZOO_FAST_MATH

// Rounding leaves integers as they are.
#define ZOO_ROUNDING(name, fn)                                        \
  template <class T>                                                  \
  ZOO_INLINE Num<T> name(Num<T> a) {                                  \
    if constexpr (std::is_floating_point_v<T>) return {std::fn(a.v)}; \
    return a;                                                         \
  }
ZOO_ROUNDING(floor, floor)
ZOO_ROUNDING(ceil, ceil)
ZOO_ROUNDING(trunc, trunc)
ZOO_ROUNDING(round, nearbyint)
#undef ZOO_ROUNDING

template <class T>
ZOO_INLINE Num<T> maximum(Num<T> a, Num<T> b) {
  return {(a.v > b.v || a.v != a.v) ? a.v : b.v};
}
template <class T>
ZOO_INLINE Num<T> minimum(Num<T> a, Num<T> b) {
  return {(a.v < b.v || a.v != a.v) ? a.v : b.v};
}

// Integer division by zero gives 0, as numpy does, and never traps.
template <class T>
ZOO_INLINE Num<T> floor_divide(Num<T> a, Num<T> b) {
  if constexpr (std::is_floating_point_v<T>) {
    // As numpy: from the exact remainder, so that a quotient that rounds up is not one too large.
    // Infinities and the sign of zero are the array API standard's.
    const T quotient = a.v / b.v;
    if (b.v == T(0) || std::isinf(a.v) || std::isinf(b.v)) return {quotient};
    const T mod = std::fmod(a.v, b.v);
    const T div = (a.v - mod) / b.v - ((mod != T(0) && (mod < T(0)) != (b.v < T(0))) ? T(1) : T(0));
    const T floored = std::floor(div);
    const T result = div - floored > T(0.5) ? floored + T(1) : floored;
    return {result == T(0) ? std::copysign(T(0), quotient) : result};
  } else if constexpr (std::is_signed_v<T>) {
    if (b.v == 0) return {T(0)};
    if (b.v == -1) return {static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a.v))};
    const T q = static_cast<T>(a.v / b.v);
    return {static_cast<T>(q - ((a.v % b.v != 0) && ((a.v < 0) != (b.v < 0))))};
  } else {
    return {b.v == 0 ? T(0) : static_cast<T>(a.v / b.v)};
  }
}

template <class T>
ZOO_INLINE Num<T> remainder(Num<T> a, Num<T> b) {
  if constexpr (std::is_floating_point_v<T>) {
    const T r = std::fmod(a.v, b.v);
    if (r == T(0)) return {std::copysign(T(0), b.v)};
    return {(r < T(0)) != (b.v < T(0)) ? r + b.v : r};
  } else if constexpr (std::is_signed_v<T>) {
    if (b.v == 0 || b.v == -1) return {T(0)};
    const T r = static_cast<T>(a.v % b.v);
    return {static_cast<T>(r != 0 && ((r < 0) != (b.v < 0)) ? r + b.v : r)};
  } else {
    return {b.v == 0 ? T(0) : static_cast<T>(a.v % b.v)};
  }
}

template <class T>
ZOO_INLINE Num<T> pow(Num<T> a, Num<T> b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (b.v == T(2)) return {a.v * a.v};
    return {static_cast<T>(std::pow(a.v, b.v))};
  } else {
    if (std::is_signed_v<T> && b.v < T(0)) {
      // 1 / a^|b|, rounded toward zero.
      if (a.v == T(1)) return {T(1)};
      if (a.v == static_cast<T>(-1)) return {static_cast<T>(b.v % 2 == 0 ? 1 : -1)};
      return {T(0)};
    }
    uint64_t result = 1, base = static_cast<uint64_t>(a.v), e = static_cast<uint64_t>(b.v);
    for (; e != 0; e >>= 1, base *= base) {
      if (e & 1) result *= base;
    }
    return {static_cast<T>(result)};
  }
}

template <class T>
ZOO_INLINE Num<T> atan2(Num<T> a, Num<T> b) { return {static_cast<T>(std::atan2(a.v, b.v))}; }
template <class T>
ZOO_INLINE Num<T> hypot(Num<T> a, Num<T> b) { return {static_cast<T>(std::hypot(a.v, b.v))}; }
template <class T>
ZOO_INLINE Num<T> copysign(Num<T> a, Num<T> b) { return {std::copysign(a.v, b.v)}; }
template <class T>
ZOO_INLINE Num<T> logaddexp(Num<T> a, Num<T> b) {
  if (a.v == b.v) return {static_cast<T>(a.v + T(0.6931471805599453))};  // also equal infinities
  const T hi = a.v > b.v ? a.v : b.v, lo = a.v > b.v ? b.v : a.v;
  if (a.v != a.v || b.v != b.v) return {std::numeric_limits<T>::quiet_NaN()};
  return {static_cast<T>(hi + std::log1p(std::exp(lo - hi)))};
}

// Over plain numbers, where the rows of integers and predicates work.
template <class T>
ZOO_INLINE bool sign_bit(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::signbit(x);
  if constexpr (std::is_signed_v<T>) return x < T(0);
  return false;
}

// Shifts by the width or more leave nothing but the sign; by a negative number they do so too.
template <class T>
ZOO_INLINE T shift_left(T a, T b) {
  constexpr int width = 8 * sizeof(T);
  if (static_cast<uint64_t>(b) >= width) return T(0);
  return static_cast<T>(static_cast<uint64_t>(a) << static_cast<int>(b));
}
template <class T>
ZOO_INLINE T shift_right(T a, T b) {
  constexpr int width = 8 * sizeof(T);
  if (static_cast<uint64_t>(b) >= width) return sign_bit(a) ? static_cast<T>(-1) : T(0);
  return static_cast<T>(a >> static_cast<int>(b));
}

}  // namespace
}  // namespace zoo

#include "kernels/cpu/special_math.h"
