// A picture has 256 values a channel: normalisation is a table that stays in the first-level cache.
#include "kernels/image.h"

#include "core/parallel.h"
#include "kernels/cpu/row_vector.h"

namespace zoo {
namespace {

void image_lookup(const ImageLookup& a) {
  parallel_for(0, a.n * a.h, 16384 / (a.w * a.c + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const uint8_t* x = a.x + line / a.h * a.strides[0] + line % a.h * a.strides[2];
      float* y = a.y + line * a.w * a.c;
      if (a.c == 3) {  // three streams at once
        for (int64_t w = 0; w < a.w; ++w, x += a.strides[3], y += 3) {
          y[0] = a.table[x[0]];
          y[1] = a.table[256 + x[a.strides[1]]];
          y[2] = a.table[512 + x[2 * a.strides[1]]];
        }
      } else {
        for (int64_t w = 0; w < a.w; ++w, x += a.strides[3], y += a.c) {
          for (int64_t c = 0; c < a.c; ++c) y[c] = a.table[c * 256 + x[c * a.strides[1]]];
        }
      }
    }
  });
}

}  // namespace

ZOO_REGISTER_CPU(image_lookup_kernel, &image_lookup);

}  // namespace zoo
