// An element of one dtype as one of another.
#pragma once

#include <limits>
#include <type_traits>

#include "core/dtype.h"
#include "kernels/cpu/inline.h"

namespace zoo {
namespace {

// float to integer beyond the range is undefined in the language: saturate, and NaN gives 0.
template <class To, class From>
ZOO_INLINE To convert(From value) {
  using C = ComputeType<From>;
  const C v = static_cast<C>(value);
  if constexpr (std::is_same_v<To, bool>) {
    return v != C(0);
  } else if constexpr (std::is_floating_point_v<C> && std::is_integral_v<To>) {
    if (v != v) return To(0);
    // The largest To may round up to the next power of two in C: compare with that.
    constexpr C low = static_cast<C>(std::numeric_limits<To>::min());
    constexpr C high = static_cast<C>(std::numeric_limits<To>::max());
    if (v >= high) return std::numeric_limits<To>::max();
    if (v <= low) return std::numeric_limits<To>::min();
    return static_cast<To>(v);
  } else {
    return static_cast<To>(static_cast<ComputeType<To>>(v));
  }
}

}  // namespace
}  // namespace zoo
