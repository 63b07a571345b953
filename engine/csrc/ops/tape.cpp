// What the tape asks of the operations: which numbers are not finite, and how a view and the
// tensor whose memory it shows follow each other's in-place changes.
#include "autograd/arithmetic.h"
#include "autograd/node.h"
#include "ops/ops.h"

namespace zoo {

std::string not_finite(const Tensor& t) {
  if (!is_floating(t.dtype())) return {};
  const Tensor flat = reshape(detach(t), {t.numel()});
  const std::vector<Tensor> found = nonzero(logical_not(isfinite(flat)));
  const int64_t count = found[0].numel();
  if (count == 0) return {};
  int64_t at = to_host(found[0]).data<int64_t>()[0];
  const Tensor value = to_host(astype(slice(flat, 0, at, 1, 1), DType::kF64));
  Dims position(t.ndim(), 0);
  for (int d = t.ndim() - 1; d >= 0; --d) {
    position[d] = at % t.shape()[d];
    at /= t.shape()[d];
  }
  return concat_text(count, " of ", t.numel(), " elements ", count == 1 ? "is" : "are",
                     " not finite, the first, ", *value.data<double>(), ", at ",
                     to_string(position));
}

Tensor with_strides(const Tensor& t, const Dims& strides) {
  if (t.strides() == strides) return t;
  Tensor out = empty_strided(t.shape(), strides, t.dtype(), t.device());
  return copy_(out, t);
}

namespace {

// The part of a base that a view shows, both as they lie in memory.
struct Region {
  Dims base_shape, base_strides, shape, strides;
  int64_t base_offset = 0, offset = 0;
  Device device;

  explicit Region(const TensorImpl& view)
      : base_shape(view.base->shape),
        base_strides(view.base->strides),
        shape(view.shape),
        strides(view.strides),
        base_offset(view.base->offset),
        offset(view.offset),
        device(view.storage->device()) {}

  // Zeros laid out as the base is, and the view's part of them.
  std::pair<Tensor, Tensor> zeros_like_base(DType dtype) const {
    if (base_shape.product() == 0) {
      return {zeros(base_shape, dtype, device), zeros(shape, dtype, device)};
    }
    int64_t low = base_offset, high = base_offset;
    for (int i = 0; i < base_shape.size(); ++i) {
      const int64_t reach = (base_shape[i] - 1) * base_strides[i];
      (reach < 0 ? low : high) += reach;
    }
    const Tensor memory = zeros({high - low + 1}, dtype, device);
    return {alias(memory, base_shape, base_strides, base_offset - low),
            alias(memory, shape, strides, shape.product() == 0 ? 0 : offset - low)};
  }
};

Tensor shown(const Tensor& base, const Region& region);

// Gradient of the base from that of the view.
Tensor spread_view(const Tensor& g, const Region& region) {
  Tensor out;
  {
    GradMode off(false);
    auto [base, part] = region.zeros_like_base(g.dtype());
    Tensor values = g;
    for (int i = 0; i < g.ndim(); ++i) {  // elements that share memory add up
      if (region.strides[i] != 0 || region.shape[i] <= 1) continue;
      values = sum(values, Dims{i}, true);
      Dims one = part.shape();
      one[i] = 1;
      part = alias(part, one, part.strides(), part.offset());
    }
    copy_(part, values);
    out = base;
  }
  if (needs_grad(g)) {
    record("view_backward", {g}, {out},
           [region](Backward& bw) { bw.set(0, shown(bw.grad(), region)); });
  }
  return out;
}

// What the view shows of a tensor shaped like the base.
Tensor shown(const Tensor& base, const Region& region) {
  Tensor out;
  {
    GradMode off(false);
    const auto [copy, part] = region.zeros_like_base(base.dtype());
    copy_(copy, base);
    out = clone(part);
  }
  if (needs_grad(base)) {
    record("view", {base}, {out},
           [region](Backward& bw) { bw.set(0, spread_view(bw.grad(), region)); });
  }
  return out;
}

// The same with zeros where the view looks; its own gradient.
Tensor without_region(const Tensor& base, const Region& region) {
  Tensor out;
  {
    GradMode off(false);
    const auto [copy, part] = region.zeros_like_base(base.dtype());
    copy_(copy, base);
    fill_(part, 0);
    out = copy;
  }
  if (needs_grad(base)) {
    record("without_region", {base}, {out},
           [region](Backward& bw) { bw.set(0, without_region(bw.grad(), region)); });
  }
  return out;
}

}  // namespace

void rebase(const Tensor& view) {
  const Tensor base(view.impl()->base);
  const Region region(*view.impl());
  record("changed_view", {base, view}, {base}, [region](Backward& bw) {
    const Tensor g = bw.grad();
    if (bw.wants(0)) bw.set(0, without_region(g, region));
    if (bw.wants(1)) bw.set(1, shown(g, region));
  });
  view.impl()->base_history = ++base.impl()->history;
}

void refresh_view(TensorImpl& view) {
  const Tensor base(view.base);
  view.base_history = base.impl()->history;
  if (!base.requires_grad()) return;
  const Region region(view);
  record("view", {base}, {Tensor(&view)},
         [region](Backward& bw) { bw.set(0, spread_view(bw.grad(), region)); });
}

void forget_history(const char* op, const Tensor& t) {
  if (!grad_enabled() || !t.requires_grad()) return;
  record_inplace(op, {Tensor()}, t, [](Backward&) {});
}

}  // namespace zoo
