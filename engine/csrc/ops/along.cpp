// Picking and placing single elements along one axis. The three operations are each other's
// gradients.
#include "kernels/along.h"

#include <algorithm>

#include "autograd/node.h"
#include "core/backend.h"
#include "ops/complex.h"
#include "ops/ops.h"

namespace zoo {
namespace {

Tensor axis_last(const Tensor& t, int axis) {
  Dims axes;
  for (int i = 0; i < t.ndim(); ++i) {
    if (i != axis) axes.push_back(i);
  }
  axes.push_back(axis);
  return permute_dims(t, axes);
}

Tensor axis_back(const Tensor& t, int axis) {
  Dims axes;
  for (int i = 0; i < t.ndim(); ++i) {
    if (i == axis) axes.push_back(t.ndim() - 1);
    if (i < t.ndim() - 1) axes.push_back(i);
  }
  return permute_dims(t, axes);
}

int checked_axis(const char* op, const Tensor& t, int64_t axis, const Tensor& index) {
  check(t.ndim() >= 1, op, ": expected a tensor of at least 1 dimension, got a 0-d one");
  const int a = normalize_axis(op, axis, t.ndim());
  check(index.device() == t.device(), op, ": the tensor and its indices are on devices '",
        device_text(t.device()), "' and '", device_text(index.device()),
        "'; move one with .to(device)");
  check<TypeError>(is_integral(index.dtype()), op, ": indices must be integers, got ",
                   dtype_name(index.dtype()));
  bool fits = index.ndim() == t.ndim();
  for (int d = 0; fits && d < t.ndim(); ++d) fits = d == a || index.shape()[d] <= t.shape()[d];
  check(fits, op, ": indices of shape ", to_string(index.shape()), " do not fit a tensor of shape ",
        to_string(t.shape()), " outside axis ", a);
  return a;
}

// `t` as it lies, `index` and `dense` contiguous with the axis last.
void run(const char* op, const Kernel<void(const AlongArgs&, DType)>& kernel, const Tensor& t,
         int axis, const Tensor& index, const Tensor& dense) {
  if (index.numel() == 0) return;
  AlongArgs args;
  args.base = t.data<char>();
  const int64_t size = itemsize(t.dtype());
  for (int d = t.ndim() - 1; d >= 0; --d) {
    if (d == axis) continue;
    args.outer_shape[args.outer_ndim] = index.shape()[d < axis ? d : d - 1];
    args.outer_strides[args.outer_ndim++] = t.strides()[d] * size;
  }
  args.step = t.strides()[axis] * size;
  args.size = t.shape()[axis];
  args.index = index.data<int64_t>();
  args.count = index.shape().back();
  args.rows = index.numel() / args.count;
  args.dense = dense.data<char>();
  int64_t outside = args.size == 0 ? 0 : -1;
  args.outside = &outside;
  use_device(t.device());
  if (args.size > 0) kernel.on(t.device().type)(args, t.dtype());
  if (outside < 0) return;
  throw IndexError(concat_text(op, ": index ", to_host(index).data<int64_t>()[outside],
                               " is out of range for axis ", axis, " of size ", args.size));
}

Tensor place(const char* op, const Kernel<void(const AlongArgs&, DType)>& kernel, const Tensor& t,
             int axis, const Tensor& index, const Tensor& source) {
  GradMode off(false);
  common_device(op, {&t, &source});
  check(source.ndim() == index.ndim(), op, ": a source of shape ", to_string(source.shape()),
        " does not fit indices of shape ", to_string(index.shape()));
  Tensor used = source;
  for (int d = 0; d < index.ndim(); ++d) {
    check(source.shape()[d] >= index.shape()[d], op, ": a source of shape ",
          to_string(source.shape()), " does not fit indices of shape ", to_string(index.shape()));
    if (source.shape()[d] > index.shape()[d]) used = slice(used, d, 0, index.shape()[d], 1);
  }
  const Tensor out = empty(t.shape(), t.dtype(), t.device());
  copy_(out, t);
  const Tensor positions = contiguous(axis_last(astype(index, DType::kI64), axis));
  const Tensor dense = contiguous(axis_last(astype(used, t.dtype()), axis));
  run(op, kernel, out, axis, positions, dense);
  return out;
}

// The gradient of a source that may be larger than the part that was used.
Tensor padded(Tensor part, const Dims& shape) {
  for (int d = 0; d < shape.size(); ++d) {
    if (part.shape()[d] == shape[d]) continue;
    Dims rest = part.shape();
    rest[d] = shape[d] - rest[d];
    part = concat({part, zeros(rest, part.dtype(), part.device())}, d);
  }
  return part;
}

}  // namespace

Tensor gather(const Tensor& t, int64_t axis, const Tensor& index) {
  const int a = checked_axis("gather", t, axis, index);
  Tensor out;
  {
    GradMode off(false);
    const Tensor positions = contiguous(axis_last(astype(index, DType::kI64), a));
    const Tensor dense = empty(positions.shape(), t.dtype(), t.device());
    run("gather", gather_kernel, t, a, positions, dense);
    out = a == t.ndim() - 1 ? dense : contiguous(axis_back(dense, a));
  }
  if (needs_grad(t)) {
    record("gather", {t}, {out},
           [a, sx = Saved(index), shape = t.shape(), dtype = t.dtype()](Backward& bw) {
             const Tensor g = bw.grad();
             bw.set(0, scatter_add(zeros(shape, dtype, g.device()), a, sx.get(), g));
           });
  }
  return out;
}

Tensor scatter(const Tensor& t, int64_t axis, const Tensor& index, const Tensor& source) {
  const int a = checked_axis("scatter", t, axis, index);
  Tensor out = place("scatter", scatter_kernel, t, a, index, source);
  if (needs_grad(t, source)) {
    // Of equal indices only the last one stands in the result. To find it, each place is told
    // which source element it holds.
    Tensor kept;
    {
      GradMode off(false);
      const Tensor number =
          reshape(to_device(arange(0, static_cast<double>(index.numel()), 1, DType::kI64),
                            t.device()),
                  index.shape());
      const Tensor holder = place("scatter", scatter_kernel,
                                  full(t.shape(), -1, DType::kI64, t.device()), a, index, number);
      kept = equal(gather(holder, a, index), number);
    }
    record("scatter", {t, source}, {out},
           [a, sx = Saved(index), sk = Saved(kept), shape = source.shape(),
            dtype = source.dtype()](Backward& bw) {
             const Tensor g = bw.grad(), index = sx.get();
             if (bw.wants(0)) {
               bw.set(0, scatter(g, a, index, zeros(index.shape(), g.dtype(), g.device())));
             }
             if (bw.wants(1)) {
               // Where another source element won, none flows.
               const Tensor part = where(sk.get(), gather(g, a, index), scalar(0, g.dtype()));
               bw.set(1, padded(astype(part, dtype), shape));
             }
           });
  }
  return out;
}

Tensor scatter_add(const Tensor& t, int64_t axis, const Tensor& index, const Tensor& source) {
  const int a = checked_axis("scatter_add", t, axis, index);
  check<TypeError>(!is_bool(t.dtype()), "scatter_add: expected numbers, got bool");
  if (is_complex(t.dtype())) {
    const Tensor s = astype(source, t.dtype());
    return join_parts(scatter_add(real(t), a, index, real(s)),
                      scatter_add(imag(t), a, index, imag(s)));
  }
  Tensor out = place("scatter_add", scatter_add_kernel, t, a, index, source);
  if (needs_grad(t, source)) {
    record("scatter_add", {t, source}, {out},
           [a, sx = Saved(index), shape = source.shape(), dtype = source.dtype()](Backward& bw) {
             const Tensor g = bw.grad();
             if (bw.wants(0)) bw.set(0, g);
             if (bw.wants(1)) bw.set(1, padded(astype(gather(g, a, sx.get()), dtype), shape));
           });
  }
  return out;
}

}  // namespace zoo
