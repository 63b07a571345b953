// Vectors for loops along a row of memory. Everything here is internal to the file that includes
// it, since each instruction set compiles its own.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "core/dispatch.h"
#include "core/dtype.h"
#include "kernels/cpu/float_math.h"

namespace zoo {
namespace {

#if ZOO_ISA_LEVEL == 2
constexpr int kVectorBytes = 64;
#elif ZOO_ISA_LEVEL == 1
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// N numbers that operators act on one by one.
template <class T, int N>
struct VectorOf {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};
template <class T, int N>
using VectorN = typename VectorOf<T, N>::type;
template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
template <class T>
using Vector = VectorN<T, kLanes<T>>;

template <class V>
struct Lane {
  using type = V;
};

// Calls body(Lane<V>, i): V is Vector<T> while a whole one fits, then T for what is left.
template <class T, class F>
ZOO_INLINE void along(int64_t n, F&& body) {
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) body(Lane<Vector<T>>{}, i);
  for (; i < n; ++i) body(Lane<T>{}, i);
}

template <class V, class T>
ZOO_INLINE V load(const T* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

template <class V, class T>
ZOO_INLINE void store(T* p, V v) {
  __builtin_memcpy(p, &v, sizeof v);
}

// acc[0..lanes) += v
ZOO_INLINE void add_to(double* acc, float v) { acc[0] += static_cast<double>(v); }
ZOO_INLINE void add_to(double* acc, double v) { acc[0] += v; }
ZOO_INLINE void add_to(double* acc, Vector<double> v) { store(acc, load<Vector<double>>(acc) + v); }
ZOO_INLINE void add_to(double* acc, Vector<float> v) {
  using Half = VectorN<float, kLanes<double>>;
  Half low, high;
  __builtin_memcpy(&low, &v, sizeof low);
  __builtin_memcpy(&high, reinterpret_cast<const char*>(&v) + sizeof low, sizeof high);
  add_to(acc, __builtin_convertvector(low, Vector<double>));
  add_to(acc + kLanes<double>, __builtin_convertvector(high, Vector<double>));
}

// Sum of the lanes, pairwise.
template <class T>
ZOO_INLINE T sum_lanes(Vector<T> v) {
  T lanes[kLanes<T>];
  store(lanes, v);
  for (int step = kLanes<T> / 2; step > 0; step /= 2) {
    for (int i = 0; i < step; ++i) lanes[i] += lanes[i + step];
  }
  return lanes[0];
}

// Sum over i of term(Lane<V>, i): four vectors of partial sums for stretches of 1,024 numbers,
// stretches in double.
template <class T, class F>
ZOO_INLINE double sum_along(int64_t n, F&& term) {
  constexpr int64_t kStretch = 1024;
  constexpr int64_t kStep = 4 * kLanes<T>;
  double total = 0;
  int64_t i = 0;
  while (i + kStep <= n) {
    const int64_t end = n - i > kStretch ? i + kStretch : n;
    Vector<T> s0{}, s1{}, s2{}, s3{};
    for (; i + kStep <= end; i += kStep) {
      s0 += term(Lane<Vector<T>>{}, i);
      s1 += term(Lane<Vector<T>>{}, i + kLanes<T>);
      s2 += term(Lane<Vector<T>>{}, i + 2 * kLanes<T>);
      s3 += term(Lane<Vector<T>>{}, i + 3 * kLanes<T>);
    }
    total += static_cast<double>(sum_lanes<T>((s0 + s1) + (s2 + s3)));
  }
  for (; i < n; ++i) total += static_cast<double>(term(Lane<T>{}, i));
  return total;
}

// The largest of a row; NaN if any is NaN; minus infinity for an empty one.
template <class T>
ZOO_INLINE T max_along(const T* x, int64_t n) {
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  Vector<T> best0 = Vector<T>{} + kLowest, best1 = best0;
  int64_t i = 0;
  for (; i + 2 * kLanes<T> <= n; i += 2 * kLanes<T>) {
    const auto a = load<Vector<T>>(x + i), b = load<Vector<T>>(x + i + kLanes<T>);
    best0 = (a <= best0) | (best0 != best0) ? best0 : a;
    best1 = (b <= best1) | (best1 != best1) ? best1 : b;
  }
  T lanes[2 * kLanes<T>];
  store(lanes, best0);
  store(lanes + kLanes<T>, best1);
  T best = kLowest;
  for (T v : lanes) best = v <= best || best != best ? best : v;
  for (; i < n; ++i) best = x[i] <= best || best != best ? best : x[i];
  return best;
}

ZOO_INLINE double exp_of(double x) { return __builtin_exp(x); }
ZOO_INLINE float exp_of(float x) { return __builtin_expf(x); }
ZOO_INLINE Vector<double> exp_of(Vector<double> x) {
  for (int i = 0; i < kLanes<double>; ++i) x[i] = __builtin_exp(x[i]);
  return x;
}
// Within 2 units in the last place. Results below the smallest normal number become 0.
ZOO_INLINE Vector<float> exp_of(Vector<float> x) {
  using V = Vector<float>;
  constexpr float kLargest = 88.722839f, kSmallest = -87.336544f;
  V bounded = x > kLargest ? V{} + kLargest : x;
  bounded = x < kSmallest ? V{} + kSmallest : bounded;
  const auto [r, n] = reduce_exp(bounded);
  // n reaches 128 at the top of the range: 2^n is applied as 2^(n/2) twice.
  const auto half = n >> 1;
  V y = exp_of_reduced(r) * power_of_2<V>(half) * power_of_2<V>(n - half);
  y = x > kLargest ? V{} + std::numeric_limits<float>::infinity() : y;
  y = x < kSmallest ? V{} : y;
  return x != x ? x : y;
}

}  // namespace
}  // namespace zoo
