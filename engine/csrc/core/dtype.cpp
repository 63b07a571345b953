#include "core/dtype.h"

#include <algorithm>

#include "core/errors.h"

namespace zoo {

const char* dtype_name(DType t) {
  constexpr const char* names[] = {"bool",  "uint8",  "int8",    "uint16",   "int16",
                                   "uint32", "int32", "uint64",  "int64",    "float16",
                                   "bfloat16", "float32", "float64", "complex64",
                                   "complex128"};
  return names[static_cast<int>(t)];
}

void no_kernel_for(DType t) {
  throw TypeError(concat_text("this operation is not defined for ", dtype_name(t), " numbers"));
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_complex(a) || is_complex(b)) return complex_dtype(promote(real_dtype(a), real_dtype(b)));
  if (is_bool(a)) return b;
  if (is_bool(b)) return a;
  if (is_floating(a) || is_floating(b)) {
    if (!is_floating(b)) return a;
    if (!is_floating(a)) return b;
    // float16 and bfloat16 hold nothing in common: the next wider type does.
    const bool half_mix = std::max(a, b) == DType::kBF16;
    return half_mix ? DType::kF32 : std::max(a, b);
  }
  if (is_unsigned(a) == is_unsigned(b)) return itemsize(a) >= itemsize(b) ? a : b;
  const DType u = is_unsigned(a) ? a : b;
  const DType s = is_unsigned(a) ? b : a;
  if (itemsize(s) > itemsize(u)) return s;
  switch (u) {  // the smallest signed type that holds both
    case DType::kU8: return DType::kI16;
    case DType::kU16: return DType::kI32;
    case DType::kU32: return DType::kI64;
    default: return DType::kF64;  // uint64 with a signed type, as numpy
  }
}

}  // namespace zoo
