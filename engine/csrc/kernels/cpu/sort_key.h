// Unsigned integers that are in the order of the elements they stand for. NaN is the largest.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/dtype.h"
#include "kernels/cpu/inline.h"

namespace zoo {
namespace {

template <int kBytes>
struct UnsignedOf;
template <> struct UnsignedOf<1> { using type = uint8_t; };
template <> struct UnsignedOf<2> { using type = uint16_t; };
template <> struct UnsignedOf<4> { using type = uint32_t; };
template <> struct UnsignedOf<8> { using type = uint64_t; };

template <class T>
struct KeyOf {
  using U = typename UnsignedOf<sizeof(T)>::type;
  static constexpr U kSign = static_cast<U>(U{1} << (sizeof(U) * 8 - 1));
  static constexpr bool kFloat = std::is_floating_point_v<ComputeType<T>>;

  // `joined_zeros`: -0 and 0 get one key.
  static ZOO_INLINE U to(T value, bool joined_zeros) {
    U bits = std::bit_cast<U>(value);
    if constexpr (kFloat) {
      const ComputeType<T> x = static_cast<ComputeType<T>>(value);
      if (x != x) return static_cast<U>(~U{0});
      if (joined_zeros && bits == kSign) bits = 0;
      return static_cast<U>((bits & kSign) ? ~bits : bits | kSign);
    } else if constexpr (std::is_signed_v<T>) {
      return static_cast<U>(bits ^ kSign);
    } else {
      return bits;
    }
  }
  static ZOO_INLINE T from(U key) {
    if constexpr (kFloat) {
      const U bits = (key & kSign) ? static_cast<U>(key ^ kSign) : static_cast<U>(~key);
      return std::bit_cast<T>(bits);
    } else if constexpr (std::is_signed_v<T>) {
      return std::bit_cast<T>(static_cast<U>(key ^ kSign));
    } else {
      return std::bit_cast<T>(key);
    }
  }
};

}  // namespace
}  // namespace zoo
