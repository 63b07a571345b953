// Batch and layer normalisation.
#include "kernels/norm.h"

#include <cmath>

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

std::vector<double> to_doubles(const Tensor& t) {
  const Tensor d = to_host(contiguous(astype(detach(t), DType::kF64)));
  return {d.data<double>(), d.data<double>() + d.numel()};
}

Tensor from_doubles(const std::vector<double>& values, DType dtype, Device device) {
  Tensor t = empty({static_cast<int64_t>(values.size())}, DType::kF64);
  std::copy(values.begin(), values.end(), t.data<double>());
  return to_device(astype(t, dtype), device);
}

std::vector<double> doubles_or(const Tensor& t, int64_t n, double otherwise) {
  return t.defined() ? to_doubles(t) : std::vector<double>(n, otherwise);
}

// running = (1 - momentum) * running + momentum * batch
void update_running(const char* name, const Tensor& running, const std::vector<double>& batch,
                    double momentum) {
  if (!running.defined()) return;
  GradMode off(false);
  check<TypeError>(is_floating(running.dtype()), "batch_norm: ", name, " is ",
                   dtype_name(running.dtype()), ", expected a floating-point dtype");
  std::vector<double> next = to_doubles(running);
  for (size_t c = 0; c < next.size(); ++c) {
    next[c] = (1.0 - momentum) * next[c] + momentum * batch[c];
  }
  copy_(running, from_doubles(next, running.dtype(), running.device()));
}

// What the backward rule keeps besides tensors of the graph: C numbers each.
struct ChannelNumbers {
  Tensor mean, scale, shift;  // float32 where x is of 16 bits: y = x * scale + shift
  std::vector<double> inverse_std;
};

ChannelNumbers channel_numbers(const std::vector<double>& mean,
                               const std::vector<double>& variance, const Tensor& weight,
                               const Tensor& bias, double eps, const Tensor& like) {
  const size_t n = mean.size();
  const std::vector<double> w = doubles_or(weight, static_cast<int64_t>(n), 1.0);
  const std::vector<double> b = doubles_or(bias, static_cast<int64_t>(n), 0.0);
  std::vector<double> scale(n), shift(n), inverse(n);
  for (size_t c = 0; c < n; ++c) {
    inverse[c] = 1.0 / std::sqrt(variance[c] + eps);
    scale[c] = w[c] * inverse[c];
  }
  const auto channel_row = [&](const std::vector<double>& values) {
    return from_doubles(values, wide_dtype(like.dtype()), like.device());
  };
  ChannelNumbers channels;
  channels.scale = channel_row(scale);
  // From the rounded scale: then x = mean gives the bias as exactly as can be.
  const std::vector<double> rounded = to_doubles(channels.scale);
  for (size_t c = 0; c < n; ++c) shift[c] = b[c] - mean[c] * rounded[c];
  channels.shift = channel_row(shift);
  channels.mean = channel_row(mean);
  channels.inverse_std = std::move(inverse);
  return channels;
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
                                       : from_doubles(channels.inverse_std, g.dtype(), g.device()));
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
    const int64_t n = shape[1];
    std::vector<double> sum(n), sum_x(n);
    const bool needs_sums =
        bw.wants(1) || bw.wants(2) || bw.wants(4) || bw.wants(5) || (training && bw.wants(0));
    if ((needs_sums || writes_masked) && grad.numel() > 0) {
      // Frozen statistics and no x kept: only the sums of g count, so any x will do.
      if (args.x == nullptr) args.x = grad.data();
      column_grad_sums_kernel.on(grad.device().type)(dtype, rows, args, sum.data(), sum_x.data(),
                                                     writes_masked ? masked.data() : nullptr);
    }
    if (writes_masked) {
      args.grad = masked.data();
      args.mask = ReluMask::kNone;
    }
    if (has_residual && bw.wants(3)) bw.set(3, masked);

    const std::vector<double>& inverse = channels.inverse_std;
    const std::vector<double> w = doubles_or(weight.get(), n, 1.0);
    // d y / d mean and d y / d variance, summed over the channel.
    std::vector<double> grad_w(n), by_mean(n), by_variance(n);
    for (int64_t i = 0; i < n; ++i) {
      grad_w[i] = sum_x[i] * inverse[i];
      by_mean[i] = -w[i] * inverse[i] * sum[i];
      by_variance[i] = -0.5 * w[i] * inverse[i] * inverse[i] * inverse[i] * sum_x[i];
    }
    const auto channel_row = [&](const std::vector<double>& values) {
      return from_doubles(values, wide_dtype(dtype), grad.device());
    };
    if (bw.wants(1)) bw.set(1, channel_row(grad_w));
    if (bw.wants(2)) bw.set(2, channel_row(sum));
    if (bw.wants(4)) bw.set(4, channel_row(by_mean));
    if (bw.wants(5)) bw.set(5, channel_row(by_variance));
    if (!bw.wants(0)) return;
    const Tensor grad_x = empty_channels_last(shape, grad);
    Tensor b, c;
    if (training) {
      // d mean / d x = 1 / count, d variance / d x = 2 (x - mean) / count.
      const double count = static_cast<double>(rows.rows);
      std::vector<double> slope(n), offset(n);
      for (int64_t i = 0; i < n; ++i) {
        slope[i] = 2.0 * by_variance[i] / count;
        offset[i] = by_mean[i] / count;
      }
      b = channel_row(slope);
      c = channel_row(offset);
    }
    column_grad_input_kernel.on(grad.device().type)(
        dtype, rows, args, channels.scale.data(), b.defined() ? b.data() : nullptr,
        c.defined() ? c.data() : nullptr, grad_x.data());
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
    std::vector<double> mean(n), variance(n);
    column_stats_kernel.on(device)(x.dtype(), rows, x.data(), mean.data(), variance.data());
    update_running("running_mean", running_mean, mean, options.momentum);
    std::vector<double> unbiased(variance);
    const double count = static_cast<double>(rows.rows);
    for (double& v : unbiased) v *= count / (count - 1.0);
    update_running("running_var", running_var, unbiased, options.momentum);
    channels = channel_numbers(mean, variance, weight, bias, options.eps, x);
  } else {
    channels = channel_numbers(to_doubles(running_mean), to_doubles(running_var), weight, bias,
                               options.eps, x);
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
  const ChannelNumbers channels =
      channel_numbers(to_doubles(norm.running_mean), to_doubles(norm.running_var), norm.weight,
                      norm.bias, eps, x);
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
