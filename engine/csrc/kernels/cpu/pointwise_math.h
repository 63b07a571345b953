// The vocabulary of ops/pointwise.def over numbers. Num<T> keeps an expression in T: a literal
// such as 0.5 becomes a T instead of dragging float arithmetic into double. The float functions
// have no branches and no table look-ups, so the compiler vectorises loops over them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#define ZOO_INLINE inline __attribute__((always_inline))

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

// e^x: x = n ln 2 + r with |r| <= ln 2 / 2; e^r by a polynomial (Remez, relative error 2e-8 before
// rounding), times 2^n in two factors so that subnormal results come out right.
ZOO_INLINE float exp_approximation(float x) {
  const float magic = 12582912.0f;  // 1.5 * 2^23: adding it leaves the rounded integer below
  float c = x > 89.0f ? 89.0f : x;
  c = c < -104.0f ? -104.0f : c;
  const float shifted = c * 1.44269504088896341f + magic;
  const float n = shifted - magic;
  const int32_t exponent = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(magic);
  float r = c - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const int32_t half = exponent >> 1;
  const float s1 = std::bit_cast<float>((half + 127) << 23);
  const float s2 = std::bit_cast<float>((exponent - half + 127) << 23);
  return x != x ? x : p * s1 * s2;
}

// tanh: an odd polynomial near 0, where 1 - 2 / (e^2x + 1) would cancel (coefficients as in
// S. Moshier's Cephes library).
ZOO_INLINE float tanh_approximation(float x) {
  const float a = std::fabs(x);
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float small = p * z * x + x;
  const float large = std::copysign(1.0f - 2.0f / (exp_approximation(2.0f * a) + 1.0f), x);
  return x != x ? x : std::copysign(a < 0.625f ? small : large, x);  // of -0 too
}

#define ZOO_MATH(name)                                                     \
  template <class T>                                                       \
  ZOO_INLINE Num<T> name(Num<T> a) { return {static_cast<T>(std::name(a.v))}; }
ZOO_MATH(expm1)
ZOO_MATH(log)
ZOO_MATH(log1p)
ZOO_MATH(log2)
ZOO_MATH(log10)
ZOO_MATH(sqrt)
ZOO_MATH(sin)
ZOO_MATH(cos)
ZOO_MATH(tan)
ZOO_MATH(asin)
ZOO_MATH(acos)
ZOO_MATH(atan)
ZOO_MATH(sinh)
ZOO_MATH(cosh)
ZOO_MATH(asinh)
ZOO_MATH(acosh)
ZOO_MATH(atanh)
ZOO_MATH(erf)
#undef ZOO_MATH

template <class T>
ZOO_INLINE Num<T> exp(Num<T> a) {
  if constexpr (std::is_same_v<T, float>) return {exp_approximation(a.v)};
  return {static_cast<T>(std::exp(a.v))};
}
template <class T>
ZOO_INLINE Num<T> tanh(Num<T> a) {
  if constexpr (std::is_same_v<T, float>) return {tanh_approximation(a.v)};
  return {static_cast<T>(std::tanh(a.v))};
}

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
