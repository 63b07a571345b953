// Views: new shapes over the same storage. No data moves, except where reshape must copy.
#include <algorithm>
#include <cstdlib>
#include <optional>

#include "autograd/node.h"
#include "ops/ops.h"
#include "ops/view.h"

namespace zoo {
namespace {

// Strides that lay `shape` over the memory of `t`, if one walk through it can (as numpy's
// no-copy reshape: each group of old axes that is one run of memory is cut anew).
std::optional<Dims> reshaped_strides(const Tensor& t, const Dims& shape) {
  if (t.numel() == 0) return contiguous_strides(shape);
  Dims old_shape, old_strides;
  for (int i = 0; i < t.ndim(); ++i) {
    if (t.shape()[i] == 1) continue;
    const int last = old_shape.size() - 1;
    if (last >= 0 && old_strides[last] == t.shape()[i] * t.strides()[i]) {
      old_shape[last] *= t.shape()[i];
      old_strides[last] = t.strides()[i];
    } else {
      old_shape.push_back(t.shape()[i]);
      old_strides.push_back(t.strides()[i]);
    }
  }
  Dims strides(shape.size(), 1);
  int run = old_shape.size() - 1;
  int64_t used = 1;  // elements of the current run already laid out
  for (int i = shape.size() - 1; i >= 0; --i) {
    if (shape[i] == 1) continue;
    if (run >= 0 && used == old_shape[run]) {
      --run;
      used = 1;
    }
    if (run < 0 || old_shape[run] % (used * shape[i]) != 0) return std::nullopt;
    strides[i] = old_strides[run] * used;
    used *= shape[i];
  }
  return strides;
}

Dims infer_shape(const Tensor& t, Dims shape) {
  int unknown = -1;
  int64_t known = 1;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1) {
      check(unknown < 0, "reshape: at most one size may be -1, got ", to_string(shape));
      unknown = i;
    } else {
      check(shape[i] >= 0, "reshape: sizes are -1 or at least 0, got ", to_string(shape));
      known *= shape[i];
    }
  }
  if (unknown >= 0 && known > 0 && t.numel() % known == 0) shape[unknown] = t.numel() / known;
  check(shape.product() == t.numel() && (unknown < 0 || shape[unknown] >= 0),
        "reshape: a tensor of shape ", to_string(t.shape()), " has ", t.numel(),
        " elements, which do not fill ", to_string(shape));
  return shape;
}

}  // namespace

Tensor make_view(const Tensor& t, const Dims& shape, const Dims& strides, int64_t offset) {
  Tensor out = alias(t, shape, strides, offset);
  TensorImpl& view = *out.impl();
  view.is_view = true;
  if (grad_enabled()) {
    view.base = t.impl()->base ? t.impl()->base : t.ref();
    view.base_history = view.base->history;
  }
  return out;
}

Tensor reshape(const Tensor& t, const Dims& wanted) {
  const Dims shape = infer_shape(t, wanted);
  const auto strides = reshaped_strides(t, shape);
  if (!strides) {
    const Tensor dense = contiguous(t);
    return reshape(dense, shape);
  }
  Tensor out = make_view(t, shape, *strides, t.offset());
  if (needs_grad(t)) {
    record("reshape", {t}, {out},
           [old = t.shape()](Backward& bw) { bw.set(0, reshape(bw.grad(), old)); });
  }
  return out;
}

Tensor permute_dims(const Tensor& t, const Dims& axes) {
  check(axes.size() == t.ndim(), "permute_dims: ", axes.size(), " axes given for a tensor of ",
        t.ndim(), " dimensions");
  Dims shape, strides, inverse(t.ndim(), -1);
  for (int i = 0; i < axes.size(); ++i) {
    const int axis = normalize_axis("permute_dims", axes[i], t.ndim());
    check(inverse[axis] == -1, "permute_dims: axis ", axis, " appears twice in ", to_string(axes));
    inverse[axis] = i;
    shape.push_back(t.shape()[axis]);
    strides.push_back(t.strides()[axis]);
  }
  Tensor out = make_view(t, shape, strides, t.offset());
  if (needs_grad(t)) {
    record("permute_dims", {t}, {out},
           [inverse](Backward& bw) { bw.set(0, permute_dims(bw.grad(), inverse)); });
  }
  return out;
}

Tensor swapaxes(const Tensor& t, int64_t a, int64_t b) {
  Dims axes;
  for (int i = 0; i < t.ndim(); ++i) axes.push_back(i);
  std::swap(axes[normalize_axis("swapaxes", a, t.ndim())],
            axes[normalize_axis("swapaxes", b, t.ndim())]);
  return permute_dims(t, axes);
}

Tensor squeeze(const Tensor& t, const Dims& axes) {
  bool drop[kMaxDims] = {};
  for (int64_t a : axes) {
    const int axis = normalize_axis("squeeze", a, t.ndim());
    check(t.shape()[axis] == 1, "squeeze: axis ", axis, " of shape ", to_string(t.shape()),
          " has size ", t.shape()[axis], ", expected 1");
    drop[axis] = true;
  }
  Dims shape, strides;
  for (int i = 0; i < t.ndim(); ++i) {
    if (drop[i]) continue;
    shape.push_back(t.shape()[i]);
    strides.push_back(t.strides()[i]);
  }
  Tensor out = make_view(t, shape, strides, t.offset());
  if (needs_grad(t)) {
    record("squeeze", {t}, {out},
           [old = t.shape()](Backward& bw) { bw.set(0, reshape(bw.grad(), old)); });
  }
  return out;
}

Tensor expand_dims(const Tensor& t, int64_t axis) {
  const int at = normalize_axis("expand_dims", axis, t.ndim() + 1);
  Dims shape = t.shape(), strides = t.strides();
  // The stride of a single element is free; this one keeps dense tensors dense.
  const int64_t stride = at < t.ndim() ? strides[at] * shape[at] : 1;
  shape.insert(at, 1);
  strides.insert(at, stride);
  Tensor out = make_view(t, shape, strides, t.offset());
  if (needs_grad(t)) {
    record("expand_dims", {t}, {out}, [at](Backward& bw) { bw.set(0, squeeze(bw.grad(), {at})); });
  }
  return out;
}

Tensor broadcast_to(const Tensor& t, const Dims& shape) {
  check(broadcast_shapes("broadcast_to", t.shape(), shape) == shape, "broadcast_to: shape ",
        to_string(t.shape()), " does not broadcast to ", to_string(shape));
  Dims strides(shape.size(), 0);
  const int shift = shape.size() - t.ndim();
  for (int i = 0; i < t.ndim(); ++i) {
    if (t.shape()[i] == shape[i + shift]) strides[i + shift] = t.strides()[i];
  }
  Tensor out = make_view(t, shape, strides, t.offset());
  if (needs_grad(t)) {
    record("broadcast_to", {t}, {out},
           [old = t.shape()](Backward& bw) { bw.set(0, unbroadcast(bw.grad(), old)); });
  }
  return out;
}

Tensor slice(const Tensor& t, int64_t axis, int64_t start, int64_t length, int64_t step) {
  const int a = normalize_axis("slice", axis, t.ndim());
  const int64_t size = t.shape()[a];
  const int64_t last = start + (length - 1) * step;
  check<IndexError>(length >= 0 && (length == 0 || (start >= 0 && start < size && last >= 0 &&
                                                    last < size)),
                    "slice: ", length, " elements from ", start, " in steps of ", step,
                    " leave axis ", a, " of size ", size);
  Dims shape = t.shape(), strides = t.strides();
  shape[a] = length;
  strides[a] *= step;
  Tensor out = make_view(t, shape, strides,
                         t.offset() + (length == 0 ? 0 : start * t.strides()[a]));
  if (needs_grad(t)) {
    record("slice", {t}, {out}, [old = t.shape(), a, start, length, step](Backward& bw) {
      bw.set(0, embed(bw.grad(), old,
                      [=](const Tensor& base) { return slice(base, a, start, length, step); }));
    });
  }
  return out;
}

Tensor flip(const Tensor& t, const Dims& axes) {
  Dims strides = t.strides();
  int64_t offset = t.offset();
  bool seen[kMaxDims] = {};
  for (int64_t axis : axes) {
    const int a = normalize_axis("flip", axis, t.ndim());
    check(!seen[a], "flip: axis ", a, " appears twice in ", to_string(axes));
    seen[a] = true;
    if (t.shape()[a] > 1) offset += (t.shape()[a] - 1) * strides[a];
    strides[a] = -strides[a];
  }
  Tensor out = make_view(t, t.shape(), strides, offset);
  if (needs_grad(t)) {
    record("flip", {t}, {out}, [axes](Backward& bw) { bw.set(0, flip(bw.grad(), axes)); });
  }
  return out;
}

Tensor diagonal(const Tensor& t, int64_t k, int64_t axis1, int64_t axis2) {
  const int a = normalize_axis("diagonal", axis1, t.ndim());
  const int b = normalize_axis("diagonal", axis2, t.ndim());
  check(a != b, "diagonal: the two axes are the same, ", a);
  const int64_t row = std::max<int64_t>(0, -k), column = std::max<int64_t>(0, k);
  const int64_t n = std::max<int64_t>(0, std::min(t.shape()[a] - row, t.shape()[b] - column));
  Dims shape, strides;
  for (int i = 0; i < t.ndim(); ++i) {
    if (i == a || i == b) continue;
    shape.push_back(t.shape()[i]);
    strides.push_back(t.strides()[i]);
  }
  shape.push_back(n);
  strides.push_back(t.strides()[a] + t.strides()[b]);
  const int64_t offset = n == 0 ? 0 : row * t.strides()[a] + column * t.strides()[b];
  Tensor out = make_view(t, shape, strides, t.offset() + offset);
  if (needs_grad(t)) {
    record("diagonal", {t}, {out}, [old = t.shape(), k, a, b](Backward& bw) {
      bw.set(0, embed(bw.grad(), old, [=](const Tensor& base) { return diagonal(base, k, a, b); }));
    });
  }
  return out;
}

}  // namespace zoo
