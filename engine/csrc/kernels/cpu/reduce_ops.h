// What reductions accumulate: where they start, what an element adds, and how two partial results
// become one. Sums run in double (or int64) whatever the input, so long ones do not saturate.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/dtype.h"
#include "kernels/cpu/inline.h"

namespace zoo {
namespace {

template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<ComputeType<T>>, double, int64_t>;

template <class T>
struct SumOp {
  using In = T;
  using Acc = Wide<T>;
  using Out = Acc;
  static constexpr bool kLaned = true, kSums = true;
  static ZOO_INLINE Acc identity() { return 0; }
  static ZOO_INLINE Acc load(T x) { return static_cast<Acc>(static_cast<ComputeType<T>>(x)); }
  static ZOO_INLINE Acc combine(Acc a, Acc b) { return a + b; }
};

template <class T>
struct ProdOp : SumOp<T> {
  using Acc = Wide<T>;
  static ZOO_INLINE Acc identity() { return 1; }
  static ZOO_INLINE Acc combine(Acc a, Acc b) { return a * b; }
};

template <class T>
struct MaxOp {
  using In = T;
  using Acc = ComputeType<T>;
  using Out = T;
  static constexpr bool kLaned = true, kSums = false;
  static ZOO_INLINE Acc identity() {
    if constexpr (std::is_floating_point_v<Acc>) return -std::numeric_limits<Acc>::infinity();
    return std::numeric_limits<Acc>::lowest();
  }
  static ZOO_INLINE Acc load(T x) { return static_cast<Acc>(x); }
  static ZOO_INLINE bool better(Acc b, Acc a) { return b > a; }
  // NaN wins, whichever side it is on. Bitwise, because a branch would keep this scalar.
  static ZOO_INLINE Acc combine(Acc a, Acc b) {
    return ((b > a) | (b != b)) & (a == a) ? b : a;
  }
};

template <class T>
struct MinOp : MaxOp<T> {
  using Acc = ComputeType<T>;
  static ZOO_INLINE Acc identity() {
    if constexpr (std::is_floating_point_v<Acc>) return std::numeric_limits<Acc>::infinity();
    return std::numeric_limits<Acc>::max();
  }
  static ZOO_INLINE bool better(Acc b, Acc a) { return b < a; }
  static ZOO_INLINE Acc combine(Acc a, Acc b) {
    return ((b < a) | (b != b)) & (a == a) ? b : a;
  }
};

template <class T>
struct AnyOp {
  using In = T;
  using Acc = bool;
  using Out = bool;
  static constexpr bool kLaned = false, kSums = false;
  static ZOO_INLINE Acc identity() { return false; }
  static ZOO_INLINE Acc load(T x) { return static_cast<ComputeType<T>>(x) != 0; }
  static ZOO_INLINE Acc combine(Acc a, Acc b) { return a | b; }
};

template <class T>
struct AllOp : AnyOp<T> {
  static ZOO_INLINE bool identity() { return true; }
  static ZOO_INLINE bool combine(bool a, bool b) { return a & b; }
};

}  // namespace
}  // namespace zoo
