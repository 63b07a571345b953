// Elementary functions of float without branches and table look-ups, so that the compiler
// vectorises loops over them. Errors are below 2 units in the last place where nothing else is said.
// Polynomials are minimax fits (Lawson's method) over the reduced argument; their own error is below
// 3e-8 relative to the function.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/cpu/inline.h"

namespace zoo {
namespace {

constexpr float kLn2Upper = 0.693359375f, kLn2Lower = -2.12194440e-4f;

// float, or a vector of them, and the integers of the same size.
template <class V>
using BitsOf = std::conditional_t<std::is_same_v<V, float>, int32_t, decltype(V{} < V{})>;

// x = n ln 2 + r with |r| <= ln 2 / 2, for |x| < 1e6.
template <class V>
struct ExpReduction {
  V r;
  BitsOf<V> n;
};
template <class V>
ZOO_INLINE ExpReduction<V> reduce_exp(V x) {
  const float magic = 12582912.0f;  // 1.5 * 2^23: adding it leaves the rounded integer below
  const V shifted = x * 1.44269504088896341f + magic;
  const V n = shifted - magic;
  const V r = (x - n * kLn2Upper) - n * kLn2Lower;
  return {r, std::bit_cast<BitsOf<V>>(shifted) - std::bit_cast<int32_t>(magic)};
}

// e^r for |r| <= ln 2 / 2 (coefficients as in S. Moshier's Cephes library).
template <class V>
ZOO_INLINE V exp_of_reduced(V r) {
  V p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return p * (r * r) + r + 1.0f;
}

// 2^n, for -126 <= n <= 127.
template <class V = float>
ZOO_INLINE V power_of_2(BitsOf<V> n) {
  return std::bit_cast<V>((n + 127) << 23);
}

// e^r times 2^n in two factors, so that subnormal results come out right.
ZOO_INLINE float exp_approximation(float x) {
  float c = x > 89.0f ? 89.0f : x;
  c = c < -104.0f ? -104.0f : c;
  const auto [r, n] = reduce_exp(c);
  const int32_t half = n >> 1;
  return x != x ? x : exp_of_reduced(r) * power_of_2(half) * power_of_2(n - half);
}

// e^x - 1 = 2^n (e^r - 1) + (2^n - 1), halved on the way so that 2^128 does not overflow.
ZOO_INLINE float expm1_approximation(float x) {
  float c = x > 89.0f ? 89.0f : x;
  c = c < -30.0f ? -30.0f : c;
  const auto [r, n] = reduce_exp(c);
  float p = 1.9823754e-4f;
  p = p * r + 1.3934125e-3f;
  p = p * r + 8.3334232e-3f;
  p = p * r + 4.1666474e-2f;
  p = p * r + 1.6666666e-1f;
  p = p * r + 0.5f;
  p = p * (r * r) + r;
  const float half = power_of_2(n - 1);
  const float result = 2.0f * (p * half + (half - 0.5f));
  return x != x || x == 0.0f ? x : result;  // -0 too
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

// x = 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)): log x = n ln 2 + log(1 + f).
ZOO_INLINE float log_approximation(float x) {
  const float infinity = std::numeric_limits<float>::infinity();
  const bool subnormal = x < std::numeric_limits<float>::min();
  const float scaled = subnormal ? x * 8388608.0f : x;
  const int32_t root_half = 0x3f3504f3;  // sqrt(1/2)
  const int32_t bits = std::bit_cast<int32_t>(scaled) - root_half;
  const float n = static_cast<float>((bits >> 23) - (subnormal ? 23 : 0));
  const float f = std::bit_cast<float>((bits & 0x7fffff) + root_half) - 1.0f;
  float p = -7.6344997e-2f;
  p = p * f + 1.2761582e-1f;
  p = p * f - 1.3160184e-1f;
  p = p * f + 1.4201757e-1f;
  p = p * f - 1.6623357e-1f;
  p = p * f + 2.0001227e-1f;
  p = p * f - 2.5000820e-1f;
  p = p * f + 3.3333331e-1f;
  const float z = f * f;
  const float small = p * (z * f) + n * kLn2Lower - 0.5f * z;
  const float result = small + f + n * kLn2Upper;
  const float outside = x == 0.0f ? -infinity : std::numeric_limits<float>::quiet_NaN();
  return x > 0.0f ? (x < infinity ? result : x) : outside;
}

// log u for u = 1 + x rounded, and what the rounding lost, to first order.
ZOO_INLINE float log1p_approximation(float x) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float u = 1.0f + x;
  const float lost = x > 1.0f ? 1.0f - (u - x) : x - (u - 1.0f);
  const float result = log_approximation(u) + lost / u;
  // Where u is 1, x is its own logarithm; so is infinity. At -1 the correction would be 0 / 0.
  return u == 1.0f || x == infinity ? x : (u == 0.0f ? -infinity : result);
}

// erf: x + x P(x^2) near 0; elsewhere 1 - e^-Q(|x|), where Q = -log(erfc).
ZOO_INLINE float erf_approximation(float x) {
  const float z = x * x;
  float p = -6.3150795e-4f;
  p = p * z + 5.0510862e-3f;
  p = p * z - 2.6802544e-2f;
  p = p * z + 1.1282717e-1f;
  p = p * z - 3.7612572e-1f;
  p = p * z + 1.2837917e-1f;
  const float small = p * x + x;
  const float a = std::fabs(x) < 4.0f ? std::fabs(x) : 4.0f;  // of NaN 4, mended below
  float q = -2.0367846e-4f;
  q = q * a + 3.1178703e-3f;
  q = q * a - 2.2519117e-2f;
  q = q * a + 1.0452606e-1f;
  q = q * a + 6.3651878e-1f;
  q = q * a + 1.1280611f;
  q = q * a + 1.0450725e-4f;
  const float large = std::copysign(1.0f - exp_approximation(-q), x);
  return x != x ? x : (std::fabs(x) < 0.85f ? std::copysign(small, x) : large);
}

// Sine and cosine are this accurate up to |x| = kTrigonometryLimit; beyond it the callers compute in
// double (loops of kernels/cpu/unary.cpp do). x = q pi / 2 + r with |r| <= pi / 4, r found in double
// from pi / 2 in two parts of which the first, of 33 bits, times q is exact.
constexpr float kTrigonometryLimit = 1e6f;

template <int kQuarters>  // 0 for the sine, 1 for the cosine: a quarter turn ahead
ZOO_INLINE float sine_approximation(float x) {
  const double magic = 6755399441055744.0;  // 1.5 * 2^52
  const double shifted = x * 0.63661977236758134308 + magic;
  const double n = shifted - magic;
  const float r =
      static_cast<float>((x - n * 1.57079632673412561417) - n * 6.07710050650619224932e-11);
  const auto q = static_cast<uint32_t>(std::bit_cast<uint64_t>(shifted)) + kQuarters;
  const float z = r * r;
  float s = -1.9515208e-4f;
  s = s * z + 8.3321603e-3f;
  s = s * z - 1.6666655e-1f;
  s = s * (z * r) + r;
  float c = 2.4433049e-5f;
  c = c * z - 1.3887315e-3f;
  c = c * z + 4.1666646e-2f;
  c = c * (z * z) - 0.5f * z + 1.0f;
  const float value = q & 1 ? c : s;
  const float result = std::bit_cast<float>(std::bit_cast<uint32_t>(value) ^ ((q & 2) << 30));
  return kQuarters == 0 && x == 0.0f ? x : result;  // of -0 too
}

}  // namespace
}  // namespace zoo
