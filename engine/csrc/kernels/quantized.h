// Products with weights that are kept in 16, 8 or 4 bits each.
#pragma once

#include <cstdint>

#include "core/dispatch.h"

namespace zoo {

// Weights of one group share a scale.
inline constexpr int64_t kInt4Group = 32;

// (rows, width), row-major. What a weight is, by kind:
//   kBF16: the bfloat16 at [row][p].
//   kInt8: the int8 at [row][p] times the float32 scales[row].
//   kInt4: a nibble, two's complement, times the bfloat16 scales[row][p / 32]. Byte i of the 16 of a
//          group has weight i in its lower half and weight i + 16 in its upper one. Width is a
//          multiple of 32.
struct QuantizedMatrix {
  enum class Kind { kBF16, kInt8, kInt4 } kind;
  int64_t rows, width;
  const void* codes;
  const void* scales;
};

// At most this many rows of x go past the weights together, which are then read once.
inline constexpr int64_t kFewTokens = 8;

// y (tokens, matrix rows) = x (tokens, width) times the matrix transposed, plus the bias or null.
extern Kernel<void(const QuantizedMatrix&, const float* x, int64_t tokens, const float* bias,
                   float* y)>
    quantized_product_kernel;
// Rows [first, last) as floats.
extern Kernel<void(const QuantizedMatrix&, int64_t first, int64_t last, float* to)>
    unpack_rows_kernel;

}  // namespace zoo
