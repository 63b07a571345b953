// Windows of pictures as columns, and back: each is the gradient of the other.
#include "kernels/unfold.h"

#include "ops/fused.h"
#include "ops/ops.h"

namespace zoo {
namespace {

UnfoldShape make_shape(const char* op, int64_t planes, int64_t h, int64_t w,
                       const UnfoldOptions& o) {
  for (int d = 0; d < 2; ++d) {
    check(o.kernel[d] > 0 && o.stride[d] > 0 && o.dilation[d] > 0 && o.padding[d] >= 0, op,
          ": expected a kernel, stride and dilation of 1 or more and no negative padding, got "
          "kernel ", o.kernel[d], ", stride ", o.stride[d], ", dilation ", o.dilation[d],
          ", padding ", o.padding[d]);
  }
  const int64_t reach_h = h + 2 * o.padding[0] - o.dilation[0] * (o.kernel[0] - 1) - 1;
  const int64_t reach_w = w + 2 * o.padding[1] - o.dilation[1] * (o.kernel[1] - 1) - 1;
  check(reach_h >= 0 && reach_w >= 0, op, ": a window of ", o.kernel[0], " x ", o.kernel[1],
        " (dilation ", o.dilation[0], ", ", o.dilation[1], ") does not fit pictures of ", h, " x ",
        w, " with padding ", o.padding[0], ", ", o.padding[1]);
  return {planes, h, w, o.kernel[0], o.kernel[1], reach_h / o.stride[0] + 1,
          reach_w / o.stride[1] + 1, o.stride[0], o.stride[1], o.padding[0], o.padding[1],
          o.dilation[0], o.dilation[1]};
}

}  // namespace

Tensor unfold(const Tensor& pictures, const UnfoldOptions& options) {
  check_floating("unfold", pictures);
  check(pictures.ndim() == 4, "unfold: x has shape ", to_string(pictures.shape()),
        ", expected pictures (N, C, H, W)");
  if (is_narrow(pictures.dtype())) {
    return astype(unfold(astype(pictures, DType::kF32), options), pictures.dtype());
  }
  const Tensor x = contiguous(pictures);
  const int64_t n = x.size(0), c = x.size(1), h = x.size(2), w = x.size(3);
  const UnfoldShape s = make_shape("unfold", n * c, h, w, options);
  const Tensor columns = empty({n, c * s.kh * s.kw, s.oh * s.ow}, x.dtype(), x.device());
  unfold_kernel.on(x.device().type)(x.dtype(), s, x.data(), columns.data());
  if (needs_grad(x)) {
    record("unfold", {x}, {columns},
           [h, w, options](Backward& bw) { bw.set(0, fold(bw.grad(), h, w, options)); });
  }
  return columns;
}

Tensor fold(const Tensor& given, int64_t h, int64_t w, const UnfoldOptions& options) {
  check_floating("fold", given);
  check(given.ndim() == 3, "fold: x has shape ", to_string(given.shape()),
        ", expected (N, C * kh * kw, windows)");
  if (is_narrow(given.dtype())) {
    return astype(fold(astype(given, DType::kF32), h, w, options), given.dtype());
  }
  const Tensor columns = contiguous(given);
  UnfoldShape s = make_shape("fold", 0, h, w, options);
  const int64_t window = s.kh * s.kw, n = columns.size(0);
  check(columns.size(1) % window == 0, "fold: x has shape ", to_string(given.shape()),
        ", whose axis 1 is no multiple of the window's ", window, " elements");
  check(columns.size(2) == s.oh * s.ow, "fold: x has shape ", to_string(given.shape()),
        ", expected ", s.oh, " x ", s.ow, " = ", s.oh * s.ow, " windows for pictures of ", h,
        " x ", w);
  const int64_t c = columns.size(1) / window;
  s.planes = n * c;
  const Tensor x = empty({n, c, h, w}, columns.dtype(), columns.device());
  fold_kernel.on(x.device().type)(x.dtype(), s, columns.data(), x.data());
  if (needs_grad(columns)) {
    record("fold", {columns}, {x},
           [options](Backward& bw) { bw.set(0, unfold(bw.grad(), options)); });
  }
  return x;
}

}  // namespace zoo
