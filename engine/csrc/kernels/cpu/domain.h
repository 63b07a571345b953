// Which dtypes a row of ops/pointwise.def is compiled for.
#pragma once

#include "core/dtype.h"
#include "kernels/cpu/pointwise_math.h"

namespace zoo {
namespace {

enum Domain { NUMBERS, FLOATS };

template <class F>
ZOO_INLINE void visit_integers(DType dtype, F f) {
  switch (dtype) {
    case DType::kU8: return f.template operator()<uint8_t>();
    case DType::kI8: return f.template operator()<int8_t>();
    case DType::kU16: return f.template operator()<uint16_t>();
    case DType::kI16: return f.template operator()<int16_t>();
    case DType::kU32: return f.template operator()<uint32_t>();
    case DType::kI32: return f.template operator()<int32_t>();
    case DType::kU64: return f.template operator()<uint64_t>();
    case DType::kI64: return f.template operator()<int64_t>();
    default: no_kernel_for(dtype);
  }
}

template <Domain D, class F>
ZOO_INLINE void visit_domain(DType dtype, F f) {
  if (is_floating(dtype)) {
    visit_floating(dtype, f);
  } else if constexpr (D == NUMBERS) {
    visit_integers(dtype, f);
  }
}

}  // namespace
}  // namespace zoo
