// Helpers for kernels that keep arrays of vectors in registers. Internal to the file that includes
// it.
#pragma once

#include <type_traits>
#include <utility>

#include "kernels/cpu/row_vector.h"

namespace zoo {
namespace {

// The first `count` of the lanes; the others are 0.
template <class V, class T>
ZOO_INLINE V load_first(const T* p, int64_t count) {
  V v{};
  __builtin_memcpy(&v, p, static_cast<size_t>(count) * sizeof(T));
  return v;
}
template <class V, class T>
ZOO_INLINE void store_first(T* p, V v, int64_t count) {
  __builtin_memcpy(p, &v, static_cast<size_t>(count) * sizeof(T));
}

// Calls body(i) for i in [0, N), each a constant: an array that is only indexed by constants lives
// in registers, while one that a loop runs over, though unrolled later, may stay in memory.
template <int N, class F>
ZOO_INLINE void unrolled(F&& body) {
  [&]<int... kI>(std::integer_sequence<int, kI...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, kI>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

}  // namespace
}  // namespace zoo
