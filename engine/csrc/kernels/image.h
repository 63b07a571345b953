// Pictures as they come from a decoder.
#pragma once

#include <cstdint>

#include "core/dispatch.h"

namespace zoo {

// y[n, h, w, c] = table[c * 256 + x[n, c, h, w]]: y is dense NHWC, x has the strides given, in
// elements, of n, c, h and w. The table is in the host's memory on every device.
struct ImageLookup {
  int64_t n, c, h, w;
  const uint8_t* x;
  int64_t strides[4];
  const float* table;
  float* y;
};
extern Kernel<void(const ImageLookup&)> image_lookup_kernel;

}  // namespace zoo
