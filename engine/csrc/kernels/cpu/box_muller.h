// Normal numbers that are the same on every machine: operations that IEEE 754 defines to the last
// bit, no library functions. Whoever includes this must not fuse multiplications with additions.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/cpu/inline.h"

namespace zoo {
namespace {

// ln u for 0 < u <= 1: u = 2^e m with m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh((m-1)/(m+1)).
ZOO_INLINE double log_of(double u) {
  const uint64_t bits = std::bit_cast<uint64_t>(u);
  constexpr uint64_t kHalfRoot = 0x3fe6a09e667f3bcdu;  // sqrt(1/2)
  const int64_t e = static_cast<int64_t>(bits - kHalfRoot) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<uint64_t>(e) << 52));
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double p = 1.0 / 21.0;
  p = p * z + 1.0 / 19.0;
  p = p * z + 1.0 / 17.0;
  p = p * z + 1.0 / 15.0;
  p = p * z + 1.0 / 13.0;
  p = p * z + 1.0 / 11.0;
  p = p * z + 1.0 / 9.0;
  p = p * z + 1.0 / 7.0;
  p = p * z + 1.0 / 5.0;
  p = p * z + 1.0 / 3.0;
  return static_cast<double>(e) * 0x1.62e42fefa39efp-1 + 2.0 * (s + s * (z * p));
}

// Two independent normal numbers from u in (0, 1) and an angle: a quadrant and a fraction of it in
// (-1/2, 1/2) (Box and Muller, 1958).
ZOO_INLINE void box_muller(double u, uint64_t quadrant, double fraction, double& z0, double& z1) {
  const double r = std::sqrt(-2.0 * log_of(u));
  const double a = fraction * 0x1.921fb54442d18p+0;  // pi / 2
  const double q = a * a;
  // Taylor series: |a| <= pi / 4, so these many terms leave less than 1e-16.
  double s = -1.0 / 1307674368000.0;
  s = s * q + 1.0 / 6227020800.0;
  s = s * q - 1.0 / 39916800.0;
  s = s * q + 1.0 / 362880.0;
  s = s * q - 1.0 / 5040.0;
  s = s * q + 1.0 / 120.0;
  s = s * q - 1.0 / 6.0;
  s = a + a * (q * s);
  double c = 1.0 / 20922789888000.0;
  c = c * q - 1.0 / 87178291200.0;
  c = c * q + 1.0 / 479001600.0;
  c = c * q - 1.0 / 3628800.0;
  c = c * q + 1.0 / 40320.0;
  c = c * q - 1.0 / 720.0;
  c = c * q + 1.0 / 24.0;
  c = c * q - 0.5;
  c = 1.0 + q * c;
  const bool odd = (quadrant & 1) != 0;
  const double x = odd ? -s : c, y = odd ? c : s;
  const bool turned = (quadrant & 2) != 0;
  z0 = r * (turned ? -x : x);
  z1 = r * (turned ? -y : y);
}

}  // namespace
}  // namespace zoo
