// When Winograd's algorithm is possible, and when it pays. Internal to the file that includes it.
#pragma once

#include "kernels/conv.h"
#include "kernels/conv_algorithm.h"
#include "kernels/cpu/row_vector.h"

namespace zoo {
namespace {

// The cost model counts multiply-adds of products. Transforms do few of them per number they read
// and write, so a transformed number counts as `kPerTransformed`; numbers of transformed windows,
// which mostly go through main memory, as `kPerWindow`.
template <class T>
ZOO_INLINE bool use_winograd(const Conv2dShape& s) {
  if constexpr (!std::is_same_v<T, float>) {
    return false;
  } else {
    constexpr int64_t kPoints = 36, kPerTransformed = 12, kPerWindow = 20;
    const ConvAlgorithm algorithm = conv_algorithm();
    if (algorithm == ConvAlgorithm::kDirect || s.kh != 3 || s.kw != 3 || s.stride_h != 1 ||
        s.stride_w != 1 || s.dilation_h != 1 || s.dilation_w != 1 || s.groups != 1) {
      return false;
    }
    if (algorithm == ConvAlgorithm::kWinograd) return true;
    const int64_t tiles = s.n * ((s.oh + 3) / 4) * ((s.ow + 3) / 4);
    const int64_t direct = s.n * s.oh * s.ow * 9 * s.c * s.k;
    const int64_t winograd =
        kPoints * (tiles * (s.c * s.k + kPerTransformed * (s.c + s.k)) + kPerWindow * s.c * s.k);
    return winograd < direct;
  }
}

}  // namespace
}  // namespace zoo
