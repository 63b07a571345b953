// Pooling over pictures.
#include "kernels/pool.h"

#include <algorithm>
#include <limits>

#include "ops/fused.h"
#include "ops/ops.h"

namespace zoo {
namespace {

// The tables a PoolAxis points to.
struct AxisTables {
  int64_t in = 0, out = 0, step = 1;
  std::vector<int32_t> begin, end, divisor, first, last;

  PoolAxis view() const {
    return {in, out, step, begin.data(), end.data(), divisor.data(), first.data(), last.data()};
  }

  // Windows are ordered, so those that reach a position are a range.
  void find_covers() {
    first.assign(in, static_cast<int32_t>(out));
    last.assign(in, 0);
    for (int32_t o = 0; o < static_cast<int32_t>(out); ++o) {
      for (int64_t i = begin[o]; i < end[o]; i += step) {
        first[i] = std::min(first[i], o);
        last[i] = std::max(last[i], o + 1);
      }
    }
    for (int64_t i = 0; i < in; ++i) last[i] = std::max(last[i], first[i]);
  }
};

struct PoolRule {
  AxisTables h, w;
  int64_t n, c;

  PoolShape shape() const { return {n, c, h.view(), w.view()}; }
  Dims in_dims() const { return {n, c, h.in, w.in}; }
  Dims out_dims() const { return {n, c, h.out, w.out}; }
};

AxisTables sliding_axis(const char* op, const char* axis, int64_t in, int d,
                        const Pool2dOptions& o) {
  const int64_t kernel = o.kernel[d], stride = o.stride[d], pad = o.padding[d];
  const int64_t dilation = o.dilation[d];
  check(kernel >= 1 && stride >= 1 && dilation >= 1, op, ": kernel ", kernel, ", stride ", stride,
        " and dilation ", dilation, " must be at least 1");
  check(pad >= 0 && pad <= kernel / 2, op, ": padding ", pad,
        " must be between 0 and half the "
        "kernel size ",
        kernel, ", or windows would lie wholly outside");
  const int64_t extent = dilation * (kernel - 1) + 1;
  check(in + 2 * pad >= extent, op, ": a window of ", extent, " does not fit into the ", axis, " ",
        in, " with padding ", pad);
  AxisTables t;
  t.in = in;
  t.step = dilation;
  t.out = (in + 2 * pad - extent + (o.ceil_mode ? stride - 1 : 0)) / stride + 1;
  // A last window that would start in the padding on the far side sees nothing.
  if (o.ceil_mode && (t.out - 1) * stride >= in + pad) --t.out;
  for (int64_t k = 0; k < t.out; ++k) {
    const int64_t start = k * stride - pad;
    int64_t begin = start;
    if (begin < 0) begin += (-begin + dilation - 1) / dilation * dilation;
    const int64_t end = std::min(start + extent, in);
    const int64_t counted =
        o.count_include_pad ? std::min(start + extent, in + pad) - start : end - begin;
    t.begin.push_back(static_cast<int32_t>(begin));
    t.end.push_back(static_cast<int32_t>(end));
    t.divisor.push_back(static_cast<int32_t>(counted));
  }
  t.find_covers();
  return t;
}

// Window k covers [floor(k in / out), ceil((k + 1) in / out)).
AxisTables adaptive_axis(int64_t in, int64_t out) {
  AxisTables t;
  t.in = in;
  t.out = out;
  for (int64_t k = 0; k < out; ++k) {
    t.begin.push_back(static_cast<int32_t>(k * in / out));
    t.end.push_back(static_cast<int32_t>(((k + 1) * in + out - 1) / out));
    t.divisor.push_back(t.end.back() - t.begin.back());
  }
  t.find_covers();
  return t;
}

void check_pictures(const char* op, const Tensor& x) {
  check_floating(op, x);
  check(x.ndim() == 4, op, ": x has shape ", to_string(x.shape()),
        ", expected pictures (N, C, H, W)");
  check(x.size(1) > 0 && x.size(2) > 0 && x.size(3) > 0, op, ": x has shape ", to_string(x.shape()),
        ", expected at least one channel, row and column");
  check(x.size(2) * x.size(3) <= std::numeric_limits<int32_t>::max(), op, ": pictures of ",
        x.size(2), " x ", x.size(3), " are too large");
}

Tensor avg_pool_windows(const char* op, const Tensor& pictures, const PoolRule& rule);

// Gradient of the pictures; linear, so that its own gradient is the pooling itself.
Tensor avg_pool_grad(const char* op, const Tensor& grad, const PoolRule& rule) {
  const Tensor g = contiguous(grad, MemoryFormat::kChannelsLast);
  const Tensor grad_x = empty_channels_last(rule.in_dims(), g);
  avg_pool_grad_kernel.on(g.device().type)(g.dtype(), rule.shape(), g.data(), grad_x.data());
  if (needs_grad(g)) {
    record(op, {g}, {grad_x},
           [rule, op](Backward& bw) { bw.set(0, avg_pool_windows(op, bw.grad(), rule)); });
  }
  return grad_x;
}

Tensor avg_pool_windows(const char* op, const Tensor& pictures, const PoolRule& rule) {
  const Tensor x = contiguous(pictures, MemoryFormat::kChannelsLast);
  const Tensor y = empty_channels_last(rule.out_dims(), x);
  avg_pool_kernel.on(x.device().type)(x.dtype(), rule.shape(), x.data(), y.data());
  if (needs_grad(x)) {
    record(op, {x}, {y},
           [rule, op](Backward& bw) { bw.set(0, avg_pool_grad(op, bw.grad(), rule)); });
  }
  return y;
}

// The element of each window that `where` names: what max_pool2d does once the places are known.
Tensor pick(const Tensor& pictures, const Tensor& where, const PoolRule& rule) {
  const auto tensor = [](const Tensor& t) { return Index{Index::Kind::kTensor, 0, 0, 1, t}; };
  const Tensor pixels = reshape(pictures, {rule.n, rule.c, rule.h.in * rule.w.in});
  const auto count = [&](int64_t n) {
    return to_device(arange(0, static_cast<double>(n), 1, DType::kI64), pictures.device());
  };
  const Tensor n = reshape(count(rule.n), {-1, 1, 1, 1}), c = reshape(count(rule.c), {-1, 1, 1});
  return index(pixels, {tensor(n), tensor(c), tensor(astype(where, DType::kI64))});
}

Tensor max_pool_grad(const Tensor& grad, const Tensor& where, const PoolRule& rule) {
  const Tensor g = contiguous(grad, MemoryFormat::kChannelsLast);
  const Tensor grad_x = empty_channels_last(rule.in_dims(), g);
  max_pool_grad_kernel.on(g.device().type)(g.dtype(), rule.shape(), g.data(),
                                           where.data<int32_t>(), grad_x.data());
  if (needs_grad(g)) {
    record("max_pool2d_grad", {g}, {grad_x},
           [rule, where](Backward& bw) { bw.set(0, pick(bw.grad(), where, rule)); });
  }
  return grad_x;
}

Pooled max_pool_windows(const char* op, const Tensor& pictures, const PoolRule& rule) {
  if (is_narrow(pictures.dtype())) {
    const Pooled wide = max_pool_windows(op, astype(pictures, DType::kF32), rule);
    return {astype(wide.largest, pictures.dtype()), wide.where};
  }
  const Tensor x = contiguous(pictures, MemoryFormat::kChannelsLast);
  const Tensor y = empty_channels_last(rule.out_dims(), x);
  const Tensor where = empty_like(y, DType::kI32);
  max_pool_kernel.on(x.device().type)(x.dtype(), rule.shape(), x.data(), y.data(),
                                      where.data<int32_t>());
  if (needs_grad(x)) {
    record(op, {x}, {y}, [rule, sw = Saved(where)](Backward& bw) {
      bw.set(0, max_pool_grad(bw.grad(), sw.get(), rule));
    });
  }
  return {y, where};
}

}  // namespace

Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options) {
  return max_pool2d_with_indices(x, options).largest;
}

Pooled max_pool2d_with_indices(const Tensor& x, const Pool2dOptions& options) {
  check_pictures("max_pool2d", x);
  return max_pool_windows("max_pool2d", x,
                          {sliding_axis("max_pool2d", "height", x.size(2), 0, options),
                           sliding_axis("max_pool2d", "width", x.size(3), 1, options), x.size(0),
                           x.size(1)});
}

Pooled adaptive_max_pool2d(const Tensor& x, int64_t out_h, int64_t out_w) {
  check_pictures("adaptive_max_pool2d", x);
  check(out_h >= 1 && out_w >= 1, "adaptive_max_pool2d: the output size (", out_h, ", ", out_w,
        ") must be at least (1, 1)");
  return max_pool_windows("adaptive_max_pool2d", x,
                          {adaptive_axis(x.size(2), out_h), adaptive_axis(x.size(3), out_w),
                           x.size(0), x.size(1)});
}

Tensor avg_pool2d(const Tensor& x, const Pool2dOptions& options) {
  check_pictures("avg_pool2d", x);
  if (is_narrow(x.dtype())) {
    return astype(avg_pool2d(astype(x, DType::kF32), options), x.dtype());
  }
  check(options.dilation[0] == 1 && options.dilation[1] == 1, "avg_pool2d: dilation (",
        options.dilation[0], ", ", options.dilation[1],
        ") is not supported; only max_pool2d has it");
  PoolRule rule{sliding_axis("avg_pool2d", "height", x.size(2), 0, options),
                sliding_axis("avg_pool2d", "width", x.size(3), 1, options), x.size(0), x.size(1)};
  if (options.divisor != 0) {
    rule.h.divisor.assign(rule.h.divisor.size(), static_cast<int32_t>(options.divisor));
    rule.w.divisor.assign(rule.w.divisor.size(), 1);
  }
  return avg_pool_windows("avg_pool2d", x, rule);
}

Tensor adaptive_avg_pool2d(const Tensor& x, int64_t out_h, int64_t out_w) {
  check_pictures("adaptive_avg_pool2d", x);
  check(out_h >= 1 && out_w >= 1, "adaptive_avg_pool2d: the output size (", out_h, ", ", out_w,
        ") must be at least (1, 1)");
  if (is_narrow(x.dtype())) {
    return astype(adaptive_avg_pool2d(astype(x, DType::kF32), out_h, out_w), x.dtype());
  }
  return avg_pool_windows("adaptive_avg_pool2d", x,
                          {adaptive_axis(x.size(2), out_h), adaptive_axis(x.size(3), out_w),
                           x.size(0), x.size(1)});
}

}  // namespace zoo
