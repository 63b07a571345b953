// Batch and layer normalisation.
#include "kernels/norm.h"

#include "autograd/node.h"
#include "ops/fused.h"
#include "ops/ops.h"

namespace zoo {
namespace {

void check_channels(const char* name, const Tensor& t, const Tensor& x) {
  if (!t.defined()) return;
  const int64_t channels = x.size(1);
  check(t.ndim() == 1 && t.size(0) == channels, "batch_norm: ", name, " has shape ",
        to_string(t.shape()), ", expected (", channels, ",): one number for each channel of ",
        to_string(x.shape()));
}

void check_norm(const BatchNormTensors& norm, const Tensor& x) {
  check_channels("weight", norm.weight, x);
  check_channels("bias", norm.bias, x);
  check_channels("running_mean", norm.running_mean, x);
  check_channels("running_var", norm.running_var, x);
}

// What the backward rule keeps besides tensors of the graph: C numbers each.
struct ChannelNumbers {
  Tensor mean, scale, shift;  // float32 where x is of 16 bits: y = x * scale + shift
  Tensor inverse_std;         // float64
};

struct Statistics {
  Tensor mean, variance;  // float64
};

Tensor as_doubles(const Tensor& t) { return contiguous(astype(detach(t), DType::kF64)); }

// The memory of C numbers that are updated in place, if it is as kernels want it, or a copy that goes
// back.
class Running {
 public:
  Running(const char* name, const Tensor& t, DType dtype) : own_(t), used_(t) {
    if (!t.defined()) return;
    check<TypeError>(is_floating(t.dtype()), "batch_norm: ", name, " is ", dtype_name(t.dtype()),
                     ", expected a floating-point dtype");
    if (t.dtype() != dtype || !t.is_contiguous()) used_ = clone(contiguous(astype(t, dtype)));
  }
  void* data() const { return used_.defined() ? used_.data() : nullptr; }
  void finish() const {
    if (!own_.defined()) return;
    if (used_.impl() == own_.impl()) {
      own_.storage()->bump_version();
    } else {
      copy_(own_, used_);
    }
  }

 private:
  Tensor own_, used_;
};

// For x like `like`. Updates running statistics where those are defined.
ChannelNumbers channel_numbers(const Statistics& statistics, const BatchNormTensors& norm,
                               double eps, const Tensor& like, bool updates, double momentum,
                               double count) {
  GradMode off(false);
  const DType dtype = wide_dtype(like.dtype());
  const auto numbers = [&](const Tensor& t) {
    return t.defined() ? contiguous(astype(detach(t), dtype)) : t;
  };
  const auto data = [](const Tensor& t) -> void* { return t.defined() ? t.data() : nullptr; };
  const Tensor weight = numbers(norm.weight), bias = numbers(norm.bias);
  const Dims shape = statistics.mean.shape();
  ChannelNumbers channels;
  for (Tensor* t : {&channels.mean, &channels.scale, &channels.shift}) {
    *t = empty(shape, dtype, like.device());
  }
  channels.inverse_std = empty(shape, DType::kF64, like.device());
  const Running running_mean("running_mean", updates ? norm.running_mean : Tensor(), dtype);
  const Running running_var("running_var", updates ? norm.running_var : Tensor(), dtype);
  ChannelForward a;
  a.channels = shape[0];
  a.count = count;
  a.eps = eps;
  a.momentum = momentum;
  a.mean = statistics.mean.data<double>();
  a.variance = statistics.variance.data<double>();
  a.weight = data(weight);
  a.bias = data(bias);
  a.running_mean = running_mean.data();
  a.running_var = running_var.data();
  a.scale = channels.scale.data();
  a.shift = channels.shift.data();
  a.rounded_mean = channels.mean.data();
  a.inverse_std = channels.inverse_std.data<double>();
  channel_forward_kernel.on(like.device().type)(dtype, a);
  running_mean.finish();
  running_var.finish();
  return channels;
}

// In inference.
ChannelNumbers channel_numbers(const BatchNormTensors& norm, double eps, const Tensor& like) {
  return channel_numbers({as_doubles(norm.running_mean), as_doubles(norm.running_var)}, norm, eps,
                         like, false, 0, 0);
}

// (C,) beside (N, C, H, W).
Tensor by_channel(const Tensor& t) { return reshape(t, {1, t.numel(), 1, 1}); }

struct BatchNormRule {
  Saved x, y, weight;
  Saved running_mean, running_var;  // in inference, where they want gradients
  ChannelNumbers channels;
  double eps;
  bool training, relu, has_residual;

  // What the kernels below compute, in operations that are recorded.
  void in_operations(Backward& bw) const {
    const Dims pixels{0, 2, 3};
    const DType own = bw.grad().dtype();
    const auto wide = [&](const Tensor& t) {
      return t.defined() ? astype(t, wide_dtype(own)) : t;
    };
    const Tensor x = wide(this->x.get()), y = wide(this->y.get()), w = weight.get();
    Tensor g = wide(bw.grad());
    if (relu) {
      const Tensor out = y.defined()
                             ? detach(y)
                             : detach(x) * by_channel(channels.scale) + by_channel(channels.shift);
      g = where(less_equal(out, scalar(0, out.dtype())), scalar(0, g.dtype()), g);
    }
    if (has_residual && bw.wants(3)) bw.set(3, astype(g, own));
    const Tensor h = w.defined() ? g * by_channel(w) : g;
    const Tensor m = running_mean.get(), v = running_var.get();
    Tensor centred, inverse;
    if (training) {
      centred = x - mean(x, pixels, true);
      inverse = rsqrt(mean(centred * centred, pixels, true) + eps);
    } else {
      if (x.defined()) centred = x - by_channel(m.defined() ? m : channels.mean);
      inverse = by_channel(v.defined() ? rsqrt(v + eps)
                                       : astype(channels.inverse_std, g.dtype()));
    }
    if (bw.wants(1)) bw.set(1, sum(g * (centred * inverse), pixels, false));
    if (bw.wants(2)) bw.set(2, sum(g, pixels, false));
    if (bw.wants(4)) bw.set(4, sum(-h * inverse, pixels, false));
    if (bw.wants(5)) {
      bw.set(5, sum(h * centred * (inverse * inverse * inverse) * -0.5, pixels, false));
    }
    if (!bw.wants(0)) return;
    if (training) {
      const Tensor normal = centred * inverse;
      const Tensor parallel = normal * mean(h * normal, pixels, true);
      bw.set(0, astype(inverse * (h - mean(h, pixels, true) - parallel), own));
    } else {
      bw.set(0, astype(h * inverse, own));
    }
  }

  void operator()(Backward& bw) {
    if (grad_enabled()) {
      in_operations(bw);
      return;
    }
    const Tensor grad = contiguous(bw.grad(), MemoryFormat::kChannelsLast);
    const DType dtype = grad.dtype();
    const Dims shape = grad.shape();
    const RowShape rows{grad.numel() / std::max<int64_t>(1, shape[1]), shape[1]};
    const Tensor x_saved = x.get(), y_saved = y.get();
    ColumnGrad args;
    args.grad = grad.data();
    args.x = x_saved.defined() ? x_saved.data() : nullptr;
    args.mean = channels.mean.data();
    args.scale = channels.scale.data();
    args.shift = channels.shift.data();
    if (relu) args.mask = y_saved.defined() ? ReluMask::kOutput : ReluMask::kRecomputed;
    if (y_saved.defined()) args.y = y_saved.data();

    // Behind the ReLU, residual and normalised x get the same gradient: once written, it is what
    // the second pass reads, instead of the gradient and the mask.
    Tensor masked = grad;
    const bool writes_masked = has_residual && relu && bw.wants(3);
    if (writes_masked) masked = empty_channels_last(shape, grad);
    const auto numbers = [&](DType of) { return empty({shape[1]}, of, grad.device()); };
    const Tensor sum = numbers(DType::kF64), sum_x = numbers(DType::kF64);
    const bool needs_sums =
        bw.wants(1) || bw.wants(2) || bw.wants(4) || bw.wants(5) || (training && bw.wants(0));
    if ((needs_sums || writes_masked) && grad.numel() > 0) {
      // Frozen statistics and no x kept: only the sums of g count, so any x will do.
      if (args.x == nullptr) args.x = grad.data();
      column_grad_sums_kernel.on(grad.device().type)(
          dtype, rows, args, sum.data<double>(), sum_x.data<double>(),
          writes_masked ? masked.data() : nullptr);
    } else {
      fill_(sum, 0);
      fill_(sum_x, 0);
    }
    if (writes_masked) {
      args.grad = masked.data();
      args.mask = ReluMask::kNone;
    }
    if (has_residual && bw.wants(3)) bw.set(3, masked);

    const Tensor w = weight.get();
    ChannelBackward a;
    a.channels = shape[1];
    a.count = static_cast<double>(rows.rows);
    a.sum = sum.data<double>();
    a.sum_x = sum_x.data<double>();
    a.inverse_std = channels.inverse_std.data<double>();
    const Tensor own_weight = w.defined() ? contiguous(detach(w)) : w;
    if (w.defined()) a.weight = own_weight.data();
    const auto result = [&](void*& to) {
      const Tensor t = numbers(wide_dtype(dtype));
      to = t.data();
      return t;
    };
    const auto gradient = [&](int input, void*& to) {
      if (bw.wants(input)) bw.set(input, result(to));
    };
    gradient(1, a.by_weight);
    gradient(2, a.by_bias);
    gradient(4, a.by_mean);
    gradient(5, a.by_variance);
    Tensor slope, offset;
    if (training && bw.wants(0)) {
      slope = result(a.slope);
      offset = result(a.offset);
    }
    if (needs_sums) channel_backward_kernel.on(grad.device().type)(wide_dtype(dtype), a);
    if (!bw.wants(0)) return;
    const Tensor grad_x = empty_channels_last(shape, grad);
    column_grad_input_kernel.on(grad.device().type)(
        dtype, rows, args, channels.scale.data(), a.slope, a.offset, grad_x.data());
    bw.set(0, grad_x);
  }
};

// x is (N, C, H, W), channels-last, of a dtype that has kernels; so is the residual.
Tensor batch_norm_channels_last(const Tensor& x, const BatchNormTensors& norm,
                                const Tensor& residual, const BatchNormOptions& options) {
  const auto& [weight, bias, running_mean, running_var] = norm;
  const int64_t n = x.size(1);
  const RowShape rows{x.numel() / std::max<int64_t>(1, n), n};
  const DeviceType device = x.device().type;
  ChannelNumbers channels;
  if (options.training) {
    const Statistics batch{empty({n}, DType::kF64, x.device()), empty({n}, DType::kF64, x.device())};
    column_stats_kernel.on(device)(x.dtype(), rows, x.data(), batch.mean.data<double>(),
                                   batch.variance.data<double>());
    channels = channel_numbers(batch, norm, options.eps, x, true, options.momentum,
                               static_cast<double>(rows.rows));
  } else {
    channels = channel_numbers(norm, options.eps, x);
  }

  const Tensor y = empty_channels_last(x.shape(), x);
  ColumnAffine args;
  args.x = x.data();
  args.scale = channels.scale.data();
  args.shift = channels.shift.data();
  args.residual = residual.defined() ? residual.data() : nullptr;
  args.relu = options.relu;
  args.y = y.data();
  column_affine_kernel.on(device)(x.dtype(), rows, args);

  // In training the running statistics are results, not inputs.
  const Tensor given_mean = options.training ? Tensor() : running_mean;
  const Tensor given_var = options.training ? Tensor() : running_var;
  if (needs_grad(x, weight, bias, residual, given_mean, given_var)) {
    BatchNormRule rule;
    const bool keeps_x = options.training || needs_grad(weight, given_var);
    if (keeps_x) rule.x = Saved(x);
    if (options.relu && (residual.defined() || !keeps_x)) rule.y = Saved::output(y);
    rule.weight = Saved(weight);
    if (needs_grad(given_mean)) rule.running_mean = Saved(given_mean);
    if (needs_grad(given_var)) rule.running_var = Saved(given_var);
    rule.eps = options.eps;
    rule.channels = std::move(channels);
    rule.training = options.training;
    rule.relu = options.relu;
    rule.has_residual = residual.defined();
    record("batch_norm", {x, weight, bias, residual, given_mean, given_var}, {y}, std::move(rule));
  }
  return y;
}

}  // namespace

ChannelAffine batch_norm_affine(const Tensor& x, const BatchNormTensors& norm, double eps) {
  check_norm(norm, x);
  const ChannelNumbers channels = channel_numbers(norm, eps, x);
  return {channels.scale, channels.shift};
}

Tensor batch_norm(const Tensor& x, const BatchNormTensors& norm, const Tensor& residual,
                  const BatchNormOptions& options) {
  check_floating("batch_norm", x);
  check(x.ndim() >= 2 && x.ndim() <= 4, "batch_norm: x has shape ", to_string(x.shape()),
        ", expected (N, C), (N, C, L) or (N, C, H, W)");
  check_norm(norm, x);
  check(!residual.defined() || residual.shape() == x.shape(), "batch_norm: residual has shape ",
        residual.defined() ? to_string(residual.shape()) : std::string(), ", expected that of x, ",
        to_string(x.shape()));
  if (options.training) {
    const int64_t values = x.numel() / std::max<int64_t>(1, x.size(1));
    check(values > 1, "batch_norm: in training each channel of x ", to_string(x.shape()), " has ",
          values,
          " value(s), and the variance needs at least 2. Use a larger batch, merge the "
          "last one with the one before, or put the layer in inference mode: layer.eval()");
  } else {
    check(norm.running_mean.defined() && norm.running_var.defined(),
          "batch_norm: inference needs running_mean and running_var; this layer keeps none, so "
          "call it with training=True");
  }
  if (!has_kernels(x.dtype(), x.device())) {
    const Tensor wide_residual = residual.defined() ? astype(residual, DType::kF32) : residual;
    return astype(batch_norm(astype(x, DType::kF32), norm, wide_residual, options), x.dtype());
  }
  if (x.ndim() < 4) {
    // (N, C, L) is a picture of one line, (N, C) one of one pixel.
    const auto picture = [&](const Tensor& t) {
      return !t.defined()    ? t
             : t.ndim() == 3 ? expand_dims(t, 2)
                             : expand_dims(expand_dims(t, 2), 3);
    };
    const Tensor y = batch_norm(picture(x), norm, picture(residual), options);
    return x.ndim() == 3 ? squeeze(y, {2}) : squeeze(y, {2, 3});
  }
  const auto as = [](const Tensor& t, DType dtype) { return t.defined() ? astype(t, dtype) : t; };
  const auto same_dtype = [&](const Tensor& t) { return as(t, wide_dtype(x.dtype())); };
  // In inference they are inputs like the others; in training they change as they are.
  const auto statistics = [&](const Tensor& t) { return options.training ? t : same_dtype(t); };
  const Tensor r = as(residual, x.dtype());
  return batch_norm_channels_last(
      contiguous(x, MemoryFormat::kChannelsLast),
      {same_dtype(norm.weight), same_dtype(norm.bias), statistics(norm.running_mean),
       statistics(norm.running_var)},
      r.defined() ? contiguous(r, MemoryFormat::kChannelsLast) : r, options);
}

namespace {

struct LayerNormRule {
  Saved x, weight;
  Tensor mean, inverse_std;  // float64, by row
  Dims normalized;
  double eps;

  // What the kernel below computes, in operations that are recorded.
  void in_operations(Backward& bw) const {
    const DType own = bw.grad().dtype();
    const Tensor x = astype(this->x.get(), wide_dtype(own)), w = weight.get();
    const Tensor g = astype(bw.grad(), wide_dtype(own));
    const int lead = x.ndim() - normalized.size();
    Dims last, first;
    for (int d = 0; d < x.ndim(); ++d) (d < lead ? first : last).push_back(d);
    const Tensor centred = x - zoo::mean(x, last, true);
    const Tensor inverse = rsqrt(zoo::mean(centred * centred, last, true) + eps);
    const Tensor normal = centred * inverse, h = w.defined() ? g * w : g;
    if (bw.wants(1)) bw.set(1, sum(g * normal, first, false));
    if (bw.wants(2)) bw.set(2, sum(g, first, false));
    if (bw.wants(0)) {
      const Tensor parallel = normal * zoo::mean(h * normal, last, true);
      bw.set(0, astype(inverse * (h - zoo::mean(h, last, true) - parallel), own));
    }
  }

  void operator()(Backward& bw) {
    if (grad_enabled()) {
      in_operations(bw);
      return;
    }
    const Tensor grad = contiguous(bw.grad());
    const Tensor x_saved = x.get(), w = weight.get();
    const int64_t width = normalized.product();
    const RowShape rows{mean.numel(), width};
    const Tensor grad_x = bw.wants(0) ? empty_like(grad) : Tensor();
    const bool sums = bw.wants(1) || bw.wants(2);
    const Tensor grad_w = sums ? empty(normalized, DType::kF64, grad.device()) : Tensor();
    const Tensor grad_b = sums ? empty(normalized, DType::kF64, grad.device()) : Tensor();
    layer_norm_grad_kernel.on(grad.device().type)(
        grad.dtype(), rows, grad.data(), x_saved.data(), w.defined() ? w.data() : nullptr,
        mean.data<double>(), inverse_std.data<double>(), grad_x.defined() ? grad_x.data() : nullptr,
        sums ? grad_w.data<double>() : nullptr, sums ? grad_b.data<double>() : nullptr);
    if (bw.wants(0)) bw.set(0, grad_x);
    if (bw.wants(1)) bw.set(1, astype(grad_w, wide_dtype(grad.dtype())));
    if (bw.wants(2)) bw.set(2, astype(grad_b, wide_dtype(grad.dtype())));
  }
};

}  // namespace

Tensor layer_norm(const Tensor& x, const Dims& normalized, const Tensor& weight, const Tensor& bias,
                  double eps) {
  check_floating("layer_norm", x);
  const int lead = x.ndim() - normalized.size();
  const bool fits = normalized.size() > 0 && lead >= 0 &&
                    Dims(x.shape().begin() + lead, x.shape().end()) == normalized;
  check(fits, "layer_norm: x has shape ", to_string(x.shape()), ", expected its last axes to be ",
        to_string(normalized));
  for (const Tensor* t : {&weight, &bias}) {
    check(!t->defined() || t->shape() == normalized,
          "layer_norm: ", t == &weight ? "weight" : "bias", " has shape ",
          t->defined() ? to_string(t->shape()) : std::string(), ", expected ", to_string(normalized));
  }
  if (!has_kernels(x.dtype(), x.device())) {
    return astype(layer_norm(astype(x, DType::kF32), normalized, weight, bias, eps), x.dtype());
  }
  const auto prepared = [&](const Tensor& t) {
    return t.defined() ? contiguous(astype(t, wide_dtype(x.dtype()))) : t;
  };
  const Tensor input = contiguous(x), w = prepared(weight), b = prepared(bias);
  const int64_t width = normalized.product();
  const RowShape rows{width == 0 ? 0 : x.numel() / width, width};
  const Tensor y = empty(x.shape(), x.dtype(), x.device());
  const Tensor mean = empty({rows.rows}, DType::kF64, x.device());
  const Tensor inverse = empty({rows.rows}, DType::kF64, x.device());
  layer_norm_kernel.on(x.device().type)(
      x.dtype(), rows, input.data(), w.defined() ? w.data() : nullptr,
      b.defined() ? b.data() : nullptr, eps, y.data(), mean.data<double>(), inverse.data<double>());
  if (needs_grad(input, w, b)) {
    record("layer_norm", {input, w, b}, {y},
           LayerNormRule{Saved(input), Saved(w), mean, inverse, normalized, eps});
  }
  return y;
}

}  // namespace zoo
