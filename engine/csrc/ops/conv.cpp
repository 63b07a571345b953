// Two-dimensional convolution and its transpose. Results are channels-last in memory whatever came in: the kernels
// work on NHWC, and a network then runs in it from the first layer to the last.
#include "kernels/conv.h"

#include "autograd/node.h"
#include "ops/fused.h"
#include "ops/nn_ops.h"
#include "ops/ops.h"
#include "ops/packed.h"

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
        describe(bias));
  common_device("conv2d", {&x, &weight, &bias});
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

Tensor forward(const Tensor& x, const Tensor& w, Conv2dShape s);
Tensor grad_weight(const Tensor& x, const Tensor& g, const Conv2dShape& s);

// Gradient of the input. It is linear in both operands, and its own gradients are convolutions.
// `op` is the operation it is part of.
Tensor grad_input(const char* op, const Tensor& grad, const Tensor& weight, Conv2dShape s) {
  const Tensor g = contiguous(grad, MemoryFormat::kChannelsLast), w = dense(weight);
  set_weight_strides(s, w);
  const Tensor gx = empty_nhwc(s.n, s.c, s.h, s.w, g.dtype(), g.device());
  conv2d_grad_input_kernel.on(g.device().type)(g.dtype(), s, g.data(), w.data(), gx.data());
  if (needs_grad(g, w)) {
    const Saved sg = w.requires_grad() ? Saved(g) : Saved();
    const Saved sw = g.requires_grad() ? Saved(w) : Saved();
    record(op, {g, w}, {gx}, [s, sg, sw](Backward& bw) {
      const Tensor gg = bw.grad();
      if (bw.wants(0)) bw.set(0, forward(gg, sw.get(), s));
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
      if (bw.wants(0)) bw.set(0, grad_input("conv2d_grad_input", sg.get(), gg, s));
      if (bw.wants(1)) bw.set(1, forward(sx.get(), gg, s));
    });
  }
  return gw;
}

// What happens to a sum before it is stored; each tensor may be undefined.
struct Finish {
  Tensor scale, bias, residual;
  bool relu = false;
};

// The weight in the kernel's own order, if it is worth keeping one of a weight that stays as it is.
Ref<Storage> packed_weight(const Tensor& w, const Conv2dShape& s) {
  const DeviceType device = w.device().type;
  if (!conv2d_pack_weight_kernel.has(device)) return {};
  const int64_t* ws = s.weight_strides;
  return packed_copy(w, {w.offset(), s.k, s.c, s.kh, s.kw, ws[0], ws[1], ws[2], ws[3]},
                     [&](void* to) {
    return conv2d_pack_weight_kernel.on(device)(w.dtype(), s, w.data(), to);
  });
}

// Records nothing. x is channels-last, w dense with the strides of s. `learns` says that gradients
// of w will be asked for, and so that w will change.
Tensor convolve(const Tensor& x, const Tensor& w, const Finish& finish, Conv2dShape s,
                bool learns) {
  check(!finish.residual.defined() || finish.residual.shape() == Dims{s.n, s.k, s.oh, s.ow},
        "conv2d: expected a residual of the result's shape ",
        to_string(Dims{s.n, s.k, s.oh, s.ow}), ", got ", describe(finish.residual));
  // Numbers by channel come in the dtype of the sums.
  const auto layout = [&](const Tensor& t) {
    return t.defined() ? contiguous(astype(t, wide_dtype(x.dtype()))) : t;
  };
  const auto data = [](const Tensor& t) { return t.defined() ? t.data() : nullptr; };
  const Tensor scale = layout(finish.scale), bias = layout(finish.bias);
  const Tensor residual = finish.residual.defined()
                              ? contiguous(finish.residual, MemoryFormat::kChannelsLast)
                              : finish.residual;
  Ref<Storage> packed;
  if (learns) {
    forget_packed(w);
  } else if ((packed = packed_weight(w, s))) {
    s.packed_weight = packed->data();
  }
  Tensor y = empty_nhwc(s.n, s.k, s.oh, s.ow, x.dtype(), x.device());
  conv2d_forward_kernel.on(x.device().type)(
      x.dtype(), s, x.data(), w.data(), {data(scale), data(bias), data(residual), finish.relu},
      y.data());
  return y;
}

Tensor forward(const Tensor& input, const Tensor& weight, const Finish& finish, Conv2dShape s) {
  const Tensor x = contiguous(input, MemoryFormat::kChannelsLast);
  const Tensor w = dense(weight);
  set_weight_strides(s, w);
  const Tensor &bias = finish.bias, &residual = finish.residual;
  const bool learns = needs_grad(w);
  Tensor y;
  {
    GradMode off(false);
    y = convolve(x, w, finish, s, learns);
  }
  if (needs_grad(x, w, bias, residual)) {
    // Each operand only serves the other's gradient.
    const Saved sx = w.requires_grad() ? Saved(x) : Saved();
    const Saved sw = x.requires_grad() ? Saved(w) : Saved();
    const Saved sy = finish.relu ? Saved::output(y) : Saved();
    record("conv2d", {x, w, bias, residual}, {y}, [s, sx, sw, sy](Backward& bw) {
      const Tensor out = sy.get();
      const Tensor g = contiguous(out.defined() ? relu_gradient(out, bw.grad()) : bw.grad(),
                                  MemoryFormat::kChannelsLast);
      if (bw.wants(1)) bw.set(1, grad_weight(sx.get(), g, s));
      if (bw.wants(2)) bw.set(2, sum(g, Dims{0, 2, 3}, false));
      if (bw.wants(3)) bw.set(3, g);
      if (bw.wants(0)) bw.set(0, grad_input("conv2d_grad_input", g, sw.get(), s));
    });
  }
  return y;
}

Tensor forward(const Tensor& x, const Tensor& w, Conv2dShape s) { return forward(x, w, {}, s); }

// The convolution whose pictures' gradient the transposed one is.
Conv2dShape make_transposed_shape(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                  const ConvTranspose2dOptions& o) {
  constexpr const char* op = "conv_transpose2d";
  check(x.ndim() == 4, op, ": expected input of shape (N, C, H, W), got ", to_string(x.shape()));
  check(weight.ndim() == 4, op, ": expected a weight of shape (in, out / groups, kh, kw), got ",
        to_string(weight.shape()));
  check<TypeError>(is_floating(x.dtype()) && weight.dtype() == x.dtype(), op, ": input is ",
                   dtype_name(x.dtype()), ", weight ", dtype_name(weight.dtype()),
                   "; both must have one floating-point dtype");
  check(x.size(1) == weight.size(0), op, ": input of shape ", to_string(x.shape()), " has ",
        x.size(1), " channels, the weight of shape ", to_string(weight.shape()), " expects ",
        weight.size(0));
  check(o.groups > 0 && x.size(1) % o.groups == 0, op, ": ", o.groups, " groups do not divide ",
        x.size(1), " input channels");
  int64_t size[2];
  for (int d = 0; d < 2; ++d) {
    check(o.stride[d] > 0 && o.dilation[d] > 0 && o.padding[d] >= 0 && weight.size(2 + d) > 0, op,
          ": expected a window, strides and dilation of 1 or more and no negative padding, got "
          "window ", weight.size(2 + d), ", stride ", o.stride[d], ", dilation ", o.dilation[d],
          ", padding ", o.padding[d]);
    check(o.output_padding[d] >= 0 &&
              (o.output_padding[d] < o.stride[d] || o.output_padding[d] < o.dilation[d]),
          op, ": output_padding ", o.output_padding[d], " must be smaller than stride ",
          o.stride[d], " or dilation ", o.dilation[d]);
    size[d] = (x.size(2 + d) - 1) * o.stride[d] - 2 * o.padding[d] +
              o.dilation[d] * (weight.size(2 + d) - 1) + o.output_padding[d] + 1;
    check(size[d] > 0, op, ": input of shape ", to_string(x.shape()), " with padding ",
          o.padding[d], " would give pictures of size ", size[d], " along axis ", 2 + d);
  }
  common_device(op, {&x, &weight, &bias});
  Conv2dShape s{};
  s.n = x.size(0);
  s.c = weight.size(1) * o.groups;
  s.h = size[0];
  s.w = size[1];
  s.k = x.size(1);
  s.kh = weight.size(2);
  s.kw = weight.size(3);
  s.oh = x.size(2);
  s.ow = x.size(3);
  s.stride_h = o.stride[0];
  s.stride_w = o.stride[1];
  s.pad_h = o.padding[0];
  s.pad_w = o.padding[1];
  s.dilation_h = o.dilation[0];
  s.dilation_w = o.dilation[1];
  s.groups = o.groups;
  check(!bias.defined() || (bias.shape() == Dims{s.c} && bias.dtype() == x.dtype()), op,
        ": expected a bias of ", s.c, " values of ", dtype_name(x.dtype()), ", got ",
        describe(bias));
  return s;
}

}  // namespace

Tensor conv2d(const Tensor& input, const Tensor& own_weight, const Tensor& own_bias,
              const Conv2dOptions& options, const Tensor& residual, bool relu) {
  const Tensor x = autocast_narrow(input), weight = autocast_narrow(own_weight);
  const Tensor bias = autocast_narrow(own_bias);
  const Conv2dShape s = make_shape(x, weight, bias, options);
  if (!has_kernels(x.dtype(), x.device())) {
    AutocastOff exact;
    const auto wide = [](const Tensor& t) { return t.defined() ? astype(t, DType::kF32) : t; };
    return astype(conv2d(wide(x), wide(weight), wide(bias), options, wide(residual), relu),
                  x.dtype());
  }
  const Tensor added = residual.defined() ? astype(residual, x.dtype()) : residual;
  return forward(x, weight, {Tensor(), bias, added, relu}, s);
}

Tensor conv2d_norm(const Tensor& input, const Tensor& own_weight, const Tensor& own_bias,
                   const Conv2dOptions& convolution, const BatchNormTensors& norm, double eps,
                   const Tensor& residual, bool relu) {
  const Tensor x = autocast_narrow(input), weight = autocast_narrow(own_weight);
  const Tensor bias = autocast_narrow(own_bias);
  const bool records = needs_grad(x, weight, bias, residual, norm.weight, norm.bias) ||
                       needs_grad(norm.running_mean, norm.running_var);
  if (records || !has_kernels(x.dtype(), x.device()) || !norm.running_mean.defined()) {
    BatchNormOptions options;
    options.eps = eps;
    options.relu = relu;
    return batch_norm(conv2d(x, weight, bias, convolution), norm, residual, options);
  }
  GradMode off(false);
  Conv2dShape s = make_shape(x, weight, bias, convolution);
  const Tensor w = dense(weight);
  set_weight_strides(s, w);
  const auto [scale, shift] =
      batch_norm_affine(empty_nhwc(0, s.k, 1, 1, x.dtype(), x.device()), norm, eps);
  const Finish finish{scale, bias.defined() ? bias * scale + shift : shift,
                      residual.defined() ? astype(residual, x.dtype()) : residual, relu};
  return convolve(contiguous(x, MemoryFormat::kChannelsLast), w, finish, s, false);
}

Tensor conv_transpose2d(const Tensor& input, const Tensor& own_weight, const Tensor& own_bias,
                        const ConvTranspose2dOptions& options) {
  const Tensor x = autocast_narrow(input), weight = autocast_narrow(own_weight);
  const Tensor bias = autocast_narrow(own_bias);
  const Conv2dShape s = make_transposed_shape(x, weight, bias, options);
  if (!has_kernels(x.dtype(), x.device())) {
    AutocastOff exact;
    return astype(conv_transpose2d(astype(x, DType::kF32), astype(weight, DType::kF32),
                                   bias.defined() ? astype(bias, DType::kF32) : bias, options),
                  x.dtype());
  }
  const Tensor y = grad_input("conv_transpose2d", x, weight, s);
  return bias.defined() ? y + reshape(bias, {1, s.c, 1, 1}) : y;
}

}  // namespace zoo
