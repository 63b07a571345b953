// Pictures into tensors.
#include "kernels/image.h"

#include "core/errors.h"
#include "ops/nn_ops.h"

namespace zoo {

Tensor normalize_images(const Tensor& x, const std::vector<double>& mean,
                        const std::vector<double>& std) {
  check<TypeError>(x.dtype() == DType::kU8, "normalize_images: expected uint8 pictures, got ",
                   describe(x));
  check(x.ndim() == 4, "normalize_images: x has shape ", to_string(x.shape()),
        ", expected (N, C, H, W)");
  const auto channels = static_cast<size_t>(x.size(1));
  check(mean.size() == channels && std.size() == channels, "normalize_images: mean has ",
        mean.size(), " numbers and std ", std.size(), ", expected ", channels,
        ": one for each channel of ", to_string(x.shape()));
  std::vector<float> table(channels * 256);
  for (size_t c = 0; c < channels; ++c) {
    check(std[c] != 0, "normalize_images: std of channel ", c, " is 0");
    for (int v = 0; v < 256; ++v) {
      table[c * 256 + v] = static_cast<float>((v / 255.0 - mean[c]) / std[c]);
    }
  }
  const Dims& s = x.shape();
  const Tensor y =
      empty_strided(s, {s[1] * s[2] * s[3], 1, s[1] * s[3], s[1]}, DType::kF32, x.device());
  ImageLookup args{s[0], s[1], s[2], s[3], x.data<uint8_t>(), {}, table.data(), y.data<float>()};
  for (int d = 0; d < 4; ++d) args.strides[d] = x.strides()[d];
  image_lookup_kernel.on(x.device().type)(args);
  return y;
}

}  // namespace zoo
