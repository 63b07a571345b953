// Element types, and the two 16-bit floating-point types the language lacks. No kernel computes on
// complex numbers: see ops/complex.h.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "core/host_device.h"

namespace zoo {

enum class DType : uint8_t {
  kBool, kU8, kI8, kU16, kI16, kU32, kI32, kU64, kI64, kF16, kBF16, kF32, kF64,
  kC64, kC128
};
inline constexpr int kNumDTypes = 15;

// Storage-only types: arithmetic happens in float. Conversions round to nearest, ties to even.
struct Half {
  uint16_t bits;
  Half() = default;
  // NOLINTNEXTLINE: implicit, so that generic code stores
  [[gnu::always_inline]] ZOO_HOST_DEVICE inline Half(float f);
  [[gnu::always_inline]] ZOO_HOST_DEVICE inline operator float() const;
};

struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  // NOLINTNEXTLINE: implicit, as above
  [[gnu::always_inline]] ZOO_HOST_DEVICE inline BFloat16(float f) {
    uint32_t u = std::bit_cast<uint32_t>(f);
    if ((u & 0x7fffffffu) > 0x7f800000u) {
      bits = static_cast<uint16_t>((u >> 16) | 0x40);  // keep a NaN a NaN
    } else {
      bits = static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
    }
  }
  [[gnu::always_inline]] ZOO_HOST_DEVICE inline operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

#if defined(__CUDA_ARCH__)
Half::Half(float f) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(f)); }
Half::operator float() const {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(bits));
  return f;
}
#elif defined(__FLT16_MAX__)
Half::Half(float f) : bits(std::bit_cast<uint16_t>(static_cast<_Float16>(f))) {}
Half::operator float() const { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
#else
#error "this compiler has no _Float16: use GCC 12 or Clang 15, or newer"
#endif

template <class T>
struct DTypeOf;
template <> struct DTypeOf<bool> { static constexpr DType value = DType::kBool; };
template <> struct DTypeOf<uint8_t> { static constexpr DType value = DType::kU8; };
template <> struct DTypeOf<int8_t> { static constexpr DType value = DType::kI8; };
template <> struct DTypeOf<uint16_t> { static constexpr DType value = DType::kU16; };
template <> struct DTypeOf<int16_t> { static constexpr DType value = DType::kI16; };
template <> struct DTypeOf<uint32_t> { static constexpr DType value = DType::kU32; };
template <> struct DTypeOf<int32_t> { static constexpr DType value = DType::kI32; };
template <> struct DTypeOf<uint64_t> { static constexpr DType value = DType::kU64; };
template <> struct DTypeOf<int64_t> { static constexpr DType value = DType::kI64; };
template <> struct DTypeOf<Half> { static constexpr DType value = DType::kF16; };
template <> struct DTypeOf<BFloat16> { static constexpr DType value = DType::kBF16; };
template <> struct DTypeOf<float> { static constexpr DType value = DType::kF32; };
template <> struct DTypeOf<double> { static constexpr DType value = DType::kF64; };
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

constexpr int64_t itemsize(DType t) {
  constexpr int8_t sizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 8, 16};
  return sizes[static_cast<int>(t)];
}
constexpr bool is_floating(DType t) { return t >= DType::kF16 && t <= DType::kF64; }
constexpr bool is_complex(DType t) { return t >= DType::kC64; }
// Those that gradients are defined for.
constexpr bool is_differentiable(DType t) { return t >= DType::kF16; }
constexpr bool is_bool(DType t) { return t == DType::kBool; }
constexpr bool is_integral(DType t) { return t >= DType::kU8 && t <= DType::kI64; }
constexpr bool is_unsigned(DType t) {
  return t == DType::kU8 || t == DType::kU16 || t == DType::kU32 || t == DType::kU64;
}

// The dtype of a complex number's parts; another dtype is its own.
constexpr DType real_dtype(DType t) {
  return t == DType::kC64 ? DType::kF32 : t == DType::kC128 ? DType::kF64 : t;
}
constexpr DType complex_dtype(DType t) {
  return t == DType::kC128 || t == DType::kF64 ? DType::kC128 : DType::kC64;
}

const char* dtype_name(DType t);
// What a kernel says to a dtype it was not compiled for.
[[noreturn]] void no_kernel_for(DType t);
// The dtype of an operation between the two: array API promotion; an integer that meets a float
// takes the float's dtype.
DType promote(DType a, DType b);

// Calls body.template operator()<T>() with the C++ type of `t`; TypeError for complex dtypes.
template <class F>
[[gnu::always_inline]] inline decltype(auto) visit_dtype(DType t, F&& body) {
  switch (t) {
    case DType::kBool: return body.template operator()<bool>();
    case DType::kU8: return body.template operator()<uint8_t>();
    case DType::kI8: return body.template operator()<int8_t>();
    case DType::kU16: return body.template operator()<uint16_t>();
    case DType::kI16: return body.template operator()<int16_t>();
    case DType::kU32: return body.template operator()<uint32_t>();
    case DType::kI32: return body.template operator()<int32_t>();
    case DType::kU64: return body.template operator()<uint64_t>();
    case DType::kI64: return body.template operator()<int64_t>();
    case DType::kF16: return body.template operator()<Half>();
    case DType::kBF16: return body.template operator()<BFloat16>();
    case DType::kF32: return body.template operator()<float>();
    case DType::kF64: return body.template operator()<double>();
    default: no_kernel_for(t);
  }
}

// Only the floating-point types; the caller has checked is_floating(t).
template <class F>
[[gnu::always_inline]] inline decltype(auto) visit_floating(DType t, F&& body) {
  switch (t) {
    case DType::kF16: return body.template operator()<Half>();
    case DType::kBF16: return body.template operator()<BFloat16>();
    case DType::kF32: return body.template operator()<float>();
    case DType::kF64: return body.template operator()<double>();
    default: no_kernel_for(t);
  }
}

struct Bits128 {
  uint64_t low, high;
};
// For kernels that only move elements: an unsigned type of the size of one.
template <class F>
[[gnu::always_inline]] inline decltype(auto) visit_bits(DType t, F&& body) {
  switch (itemsize(t)) {
    case 1: return body.template operator()<uint8_t>();
    case 2: return body.template operator()<uint16_t>();
    case 4: return body.template operator()<uint32_t>();
    case 8: return body.template operator()<uint64_t>();
    default: return body.template operator()<Bits128>();
  }
}

// The type arithmetic on T happens in.
template <class T> struct ComputeTypeOf { using type = T; };
template <> struct ComputeTypeOf<Half> { using type = float; };
template <> struct ComputeTypeOf<BFloat16> { using type = float; };
template <class T>
using ComputeType = typename ComputeTypeOf<T>::type;

}  // namespace zoo
