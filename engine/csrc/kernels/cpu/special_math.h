// Special functions for ops/pointwise.def, over numbers. All compute in double: a float result is
// then right to the last bit or nearly so. Included by pointwise_math.h, whose Num they use.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace zoo {
namespace {

constexpr double kSpecialPi = 3.14159265358979323846;

ZOO_HOST_DEVICE inline double log_gamma(double x) {
#if defined(__CUDA_ARCH__)
  return ::lgamma(x);
#else
  int sign = 0;
  return ::lgamma_r(x, &sign);  // std::lgamma writes a global variable
#endif
}

// Reflection below 1/2, recurrence up to 10, then the asymptotic series (Abramowitz and Stegun,
// 6.3.7, 6.3.5 and 6.3.18).
ZOO_HOST_DEVICE inline double digamma_of(double x) {
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (x < 0.5) {
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    // The tangent of the fraction alone: x itself may be large.
    return digamma_of(1 - x) - kSpecialPi / std::tan(kSpecialPi * (x - std::floor(x)));
  }
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  const double z = 1 / (x * x);
  const double tail =
      z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 -
      z * (691.0 / 32760 - z / 12))))));
  return sum + std::log(x) - 0.5 / x - tail;
}

// Hurwitz zeta(s, x) for s >= 2 by the Euler-Maclaurin formula (NIST DLMF 25.11.5): terms up to
// x >= 12 one by one, the rest as an integral with corrections.
ZOO_HOST_DEVICE inline double hurwitz_zeta(double s, double x) {
  if (x <= 0 && x == std::floor(x)) return std::numeric_limits<double>::infinity();
  if (x < -10000) return std::numeric_limits<double>::quiet_NaN();  // terms beyond counting
  double sum = 0;
  for (; x < 12; x += 1) sum += std::pow(x, -s);
  const double power = std::pow(x, -s);
  sum += power * x / (s - 1) + power / 2;
  // B_2k / (2k)! for k = 1 ... 9
  constexpr double kBernoulli[] = {
      1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160,
      -691.0 / 1307674368000.0, 1.0 / 74724249600.0, -3617.0 / 10670622842880000.0,
      43867.0 / 5109094217170944000.0};
  double factor = s, scale = power / x;
  for (int k = 0; k < 9; ++k) {
    sum += kBernoulli[k] * factor * scale;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2);
    scale /= x * x;
  }
  return sum;
}

// The n-th derivative of digamma: (-1)^(n + 1) n! zeta(n + 1, x).
ZOO_HOST_DEVICE inline double polygamma_of(double n, double x) {
  if (n == 0) return digamma_of(x);
  if (n == 1 && x < 0.5 && x != std::floor(x)) {
    const double s = std::sin(kSpecialPi * (x - std::floor(x)));
    return kSpecialPi * kSpecialPi / (s * s) - polygamma_of(1, 1 - x);
  }
  const double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  return sign * std::tgamma(n + 1) * hurwitz_zeta(n + 1, x);
}

// A first guess (M. Giles, "Approximating the erfinv function", GPU Computing Gems, 2011), then
// Halley's method on erf, or on erfc where 1 - x keeps the digits that matter.
ZOO_HOST_DEVICE inline double erfinv_of(double x) {
  const double a = std::fabs(x);
  if (!(a < 1)) {
    return a == 1 ? std::copysign(std::numeric_limits<double>::infinity(), x)
                  : std::numeric_limits<double>::quiet_NaN();
  }
  double w = -std::log((1 - a) * (1 + a)), p;
  if (w < 5) {
    w -= 2.5;
    constexpr double c[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06,
                            0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941};
    p = c[0];
    for (int i = 1; i < 9; ++i) p = c[i] + p * w;
  } else {
    w = std::sqrt(w) - 3;
    constexpr double c[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844,
                            0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682};
    p = c[0];
    for (int i = 1; i < 9; ++i) p = c[i] + p * w;
  }
  double y = p * a;
  for (int i = 0; i < 3; ++i) {
    const double error = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
    const double step = error / (1.1283791670955126 * std::exp(-y * y));
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

// Modified Bessel functions of the first kind, order 0 and 1: the power series, whose terms are
// all positive, and from 30 on the asymptotic one (Abramowitz and Stegun, 9.6.10 and 9.7.1).
ZOO_HOST_DEVICE inline double bessel_i(int order, double x) {
  const double a = std::fabs(x);
  double value;
  if (a < 30) {
    const double q = a * a / 4;
    double term = order == 0 ? 1 : a / 2;
    value = term;
    for (int k = 1; term > value * 1e-17; ++k) {
      term *= q / (static_cast<double>(k) * (k + order));
      value += term;
    }
  } else {
    double term = 1, sum = 1;
    for (int k = 1; k < 40 && std::fabs(term) > 1e-17; ++k) {
      const double odd = 2 * k - 1;
      term *= (odd * odd - 4 * order * order) / (8 * k * a);
      sum += term;
    }
    // exp(a / 2) twice: the product may be in range where exp(a) is not.
    const double half = std::exp(a / 2);
    value = half * (half * (sum / std::sqrt(2 * kSpecialPi * a)));
  }
  return order == 1 && x < 0 ? -value : value;
}

ZOO_HOST_DEVICE inline double sinc_of(double x) {
  if (x == 0) return 1;
  return std::sin(kSpecialPi * x) / (kSpecialPi * x);
}
// Its derivative: a series near 0, where the two terms of the closed form cancel.
ZOO_HOST_DEVICE inline double sinc_slope_of(double x) {
  const double t = kSpecialPi * x;
  if (std::fabs(t) < 0.05) {
    const double q = t * t;
    return kSpecialPi * t * (-1.0 / 3 + q * (1.0 / 30 - q * (1.0 / 840 - q / 45360)));
  }
  return (std::cos(t) - std::sin(t) / t) / x;
}

#define ZOO_SPECIAL(name, expression)                                  \
  template <class T>                                                   \
  ZOO_HOST_DEVICE inline Num<T> name(Num<T> a) {                       \
    const double x = static_cast<double>(a.v);                         \
    return {static_cast<T>(expression)};                               \
  }
ZOO_SPECIAL(exp2, std::exp2(x))
ZOO_SPECIAL(erfc, std::erfc(x))
ZOO_SPECIAL(erfinv, erfinv_of(x))
ZOO_SPECIAL(lgamma, log_gamma(x))
ZOO_SPECIAL(digamma, digamma_of(x))
ZOO_SPECIAL(i0, bessel_i(0, x))
ZOO_SPECIAL(i1, bessel_i(1, x))
ZOO_SPECIAL(sinc, sinc_of(x))
ZOO_SPECIAL(sinc_slope, sinc_slope_of(x))
#undef ZOO_SPECIAL

template <class T>
ZOO_HOST_DEVICE inline Num<T> polygamma(Num<T> a, double n) {
  return {static_cast<T>(polygamma_of(n, static_cast<double>(a.v)))};
}

// Over plain integers: they stand in bitwise rows.
template <class T>
ZOO_HOST_DEVICE inline T greatest_divisor(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else {
    using U = std::make_unsigned_t<T>;
    U x = static_cast<U>(a < T(0) ? U(0) - static_cast<U>(a) : static_cast<U>(a));
    U y = static_cast<U>(b < T(0) ? U(0) - static_cast<U>(b) : static_cast<U>(b));
    while (y != 0) {
      const U rest = static_cast<U>(x % y);
      x = y;
      y = rest;
    }
    return static_cast<T>(x);
  }
}
template <class T>
ZOO_HOST_DEVICE inline T least_multiple(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a && b;
  } else {
    const T divisor = greatest_divisor(a, b);
    if (divisor == T(0)) return T(0);
    const T product = static_cast<T>(static_cast<T>(a / divisor) * b);
    return product < T(0) ? static_cast<T>(T(0) - product) : product;
  }
}

}  // namespace
}  // namespace zoo
