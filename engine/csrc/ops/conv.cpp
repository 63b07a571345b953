// Two-dimensional convolution. Results are channels-last in memory whatever came in: the kernels
// work on NHWC, and a network then runs in it from the first layer to the last.
#include "kernels/conv.h"

#include "autograd/node.h"
#include "ops/ops.h"

namespace zoo {
namespace {

Conv2dShape make_shape(const Tensor& x, const Tensor& weight, const Tensor& bias,
                       const Conv2dOptions& o) {
  check(x.ndim() == 4, "conv2d: expected input of shape (N, C, H, W), got ", to_string(x.shape()));
  check(weight.ndim() == 4, "conv2d: expected a weight of shape (out, in / groups, kh, kw), got ",
        to_string(weight.shape()));
  check<TypeError>(is_floating(x.dtype()) && weight.dtype() == x.dtype(), "conv2d: input is ",
                   dtype_name(x.dtype()), ", weight ", dtype_name(weight.dtype()),
                   "; both must have one floating-point dtype");
  Conv2dShape s;
  s.n = x.shape()[0];
  s.c = x.shape()[1];
  s.h = x.shape()[2];
  s.w = x.shape()[3];
  s.k = weight.shape()[0];
  s.kh = weight.shape()[2];
  s.kw = weight.shape()[3];
  s.stride_h = o.stride[0];
  s.stride_w = o.stride[1];
  s.pad_h = o.padding[0];
  s.pad_w = o.padding[1];
  s.dilation_h = o.dilation[0];
  s.dilation_w = o.dilation[1];
  s.groups = o.groups;
  check(s.stride_h > 0 && s.stride_w > 0, "conv2d: strides must be positive, got (", s.stride_h,
        ", ", s.stride_w, ")");
  check(s.pad_h >= 0 && s.pad_w >= 0, "conv2d: padding must not be negative, got (", s.pad_h, ", ",
        s.pad_w, ")");
  check(s.dilation_h > 0 && s.dilation_w > 0, "conv2d: dilation must be positive, got (",
        s.dilation_h, ", ", s.dilation_w, ")");
  check(s.groups > 0 && s.c % s.groups == 0 && s.k % s.groups == 0, "conv2d: ", s.groups,
        " groups do not divide ", s.c, " input and ", s.k, " output channels");
  check(weight.shape()[1] * s.groups == s.c, "conv2d: input of shape ", to_string(x.shape()),
        " has ", s.c, " channels, the weight of shape ", to_string(weight.shape()), " with ",
        s.groups, " groups expects ", weight.shape()[1] * s.groups);
  check(!bias.defined() || (bias.shape() == Dims{s.k} && bias.dtype() == x.dtype()),
        "conv2d: expected a bias of ", s.k, " values of ", dtype_name(x.dtype()), ", got ",
        bias.defined() ? describe(bias) : std::string());
  check(s.kh > 0 && s.kw > 0, "conv2d: the window is empty: weight of shape ",
        to_string(weight.shape()));
  const int64_t reach_h = s.h + 2 * s.pad_h - (s.dilation_h * (s.kh - 1) + 1);
  const int64_t reach_w = s.w + 2 * s.pad_w - (s.dilation_w * (s.kw - 1) + 1);
  check(reach_h >= 0 && reach_w >= 0, "conv2d: a window of ", s.kh, " x ", s.kw, " (dilation ",
        s.dilation_h, ", ", s.dilation_w, ") does not fit pictures of ", s.h, " x ", s.w,
        " with padding ", s.pad_h, ", ", s.pad_w, "; use larger pictures");
  s.oh = reach_h / s.stride_h + 1;
  s.ow = reach_w / s.stride_w + 1;
  return s;
}

void set_weight_strides(Conv2dShape& s, const Tensor& weight) {
  for (int i = 0; i < 4; ++i) s.weight_strides[i] = weight.strides()[i];
}

Tensor empty_nhwc(int64_t n, int64_t c, int64_t h, int64_t w, DType dtype, Device device) {
  return empty_strided({n, c, h, w}, {c * h * w, 1, w * c, c}, dtype, device);
}

Tensor dense(const Tensor& t) { return t.is_dense() ? t : contiguous(t); }

Tensor forward(const Tensor& x, const Tensor& w, const Tensor& bias, Conv2dShape s);
Tensor grad_weight(const Tensor& x, const Tensor& g, const Conv2dShape& s);

// Gradient of the input. It is linear in both operands, and its own gradients are convolutions.
Tensor grad_input(const Tensor& grad, const Tensor& weight, Conv2dShape s) {
  const Tensor g = contiguous(grad, MemoryFormat::kChannelsLast), w = dense(weight);
  set_weight_strides(s, w);
  const Tensor gx = empty_nhwc(s.n, s.c, s.h, s.w, g.dtype(), g.device());
  conv2d_grad_input_kernel.on(g.device().type)(g.dtype(), s, g.data(), w.data(), gx.data());
  if (needs_grad(g, w)) {
    const Saved sg = w.requires_grad() ? Saved(g) : Saved();
    const Saved sw = g.requires_grad() ? Saved(w) : Saved();
    record("conv2d_grad_input", {g, w}, {gx}, [s, sg, sw](Backward& bw) {
      const Tensor gg = bw.grad();
      if (bw.wants(0)) bw.set(0, forward(gg, sw.get(), Tensor(), s));
      if (bw.wants(1)) bw.set(1, grad_weight(gg, sg.get(), s));
    });
  }
  return gx;
}

// Gradient of the weight, laid out as the weight.
Tensor grad_weight(const Tensor& input, const Tensor& grad, const Conv2dShape& s) {
  const Tensor x = contiguous(input, MemoryFormat::kChannelsLast);
  const Tensor g = contiguous(grad, MemoryFormat::kChannelsLast);
  const Tensor gw = empty_strided({s.k, s.c / s.groups, s.kh, s.kw},
                                  Dims(s.weight_strides, s.weight_strides + 4), x.dtype(),
                                  x.device());
  conv2d_grad_weight_kernel.on(x.device().type)(x.dtype(), s, x.data(), g.data(), gw.data());
  if (needs_grad(x, g)) {
    const Saved sx = g.requires_grad() ? Saved(x) : Saved();
    const Saved sg = x.requires_grad() ? Saved(g) : Saved();
    record("conv2d_grad_weight", {x, g}, {gw}, [s, sx, sg](Backward& bw) {
      const Tensor gg = bw.grad();
      if (bw.wants(0)) bw.set(0, grad_input(sg.get(), gg, s));
      if (bw.wants(1)) bw.set(1, forward(sx.get(), gg, Tensor(), s));
    });
  }
  return gw;
}

Tensor forward(const Tensor& input, const Tensor& weight, const Tensor& bias, Conv2dShape s) {
  const Tensor x = contiguous(input, MemoryFormat::kChannelsLast);
  const Tensor w = dense(weight);
  set_weight_strides(s, w);
  Tensor y = empty_nhwc(s.n, s.k, s.oh, s.ow, x.dtype(), x.device());
  Conv2dEpilogue epilogue;
  Tensor packed_bias;
  if (bias.defined()) {
    packed_bias = contiguous(bias);
    epilogue.bias = packed_bias.data();
  }
  conv2d_forward_kernel.on(x.device().type)(x.dtype(), s, x.data(), w.data(), epilogue, y.data());
  if (needs_grad(x, w, bias)) {
    // Each operand only serves the other's gradient.
    const Saved sx = w.requires_grad() ? Saved(x) : Saved();
    const Saved sw = x.requires_grad() ? Saved(w) : Saved();
    record("conv2d", {x, w, bias}, {y}, [s, sx, sw](Backward& bw) {
      const Tensor g = contiguous(bw.grad(), MemoryFormat::kChannelsLast);
      if (bw.wants(1)) bw.set(1, grad_weight(sx.get(), g, s));
      if (bw.wants(2)) bw.set(2, sum(g, Dims{0, 2, 3}, false));
      if (bw.wants(0)) bw.set(0, grad_input(g, sw.get(), s));
    });
  }
  return y;
}

}  // namespace

Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias,
              const Conv2dOptions& options) {
  const Conv2dShape s = make_shape(input, weight, bias, options);
  if (input.dtype() != DType::kF32 && input.dtype() != DType::kF64) {
    return astype(conv2d(astype(input, DType::kF32), astype(weight, DType::kF32),
                         bias.defined() ? astype(bias, DType::kF32) : bias, options),
                  input.dtype());
  }
  return forward(input, weight, bias, s);
}

}  // namespace zoo
