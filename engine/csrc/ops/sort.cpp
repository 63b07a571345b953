// Sorting along an axis. The gradient goes back to where each value came from.
#include <algorithm>

#include "autograd/node.h"
#include "kernels/along.h"
#include "kernels/order.h"
#include "ops/complex.h"
#include "ops/ops.h"

namespace zoo {
namespace {

Sorted run(const char* op, const Tensor& t, int64_t axis, int64_t keep, bool descending,
           bool with_indices) {
  check_ordered(op, t);
  const int a = t.ndim() == 0 ? 0 : normalize_axis(op, axis, t.ndim());
  Sorted out;
  {
    GradMode off(false);
    const Tensor moved = t.ndim() == 0 ? reshape(t, {1}) : swapaxes(t, a, -1);
    const Tensor in = contiguous(moved);
    SortArgs args;
    args.in = in.data();
    args.n = in.shape().back();
    args.rows = args.n == 0 ? 0 : in.numel() / args.n;
    args.descending = descending;
    args.keep = keep < 0 ? args.n : keep;
    Dims shape = in.shape();
    shape.back() = args.keep;
    const Tensor values = empty(shape, t.dtype(), t.device());
    args.values = values.data();
    Tensor indices;
    if (with_indices) {
      indices = empty(shape, DType::kI64, t.device());
      args.indices = indices.data<int64_t>();
    }
    if (values.numel() > 0) sort_kernel.on(t.device().type)(args, t.dtype());
    const auto back = [&](const Tensor& r) {
      if (t.ndim() == 0) return reshape(r, keep < 0 ? Dims{} : Dims{keep});
      return contiguous(swapaxes(r, a, -1));
    };
    out.values = back(values);
    if (with_indices) out.indices = back(indices);
  }
  return out;
}

void record_order(const char* name, const Tensor& t, int64_t axis, const Sorted& out) {
  if (!needs_grad(t) || !is_floating(t.dtype())) return;
  record(name, {t}, {out.values},
         [axis, si = Saved(out.indices), shape = t.shape(), dtype = t.dtype()](Backward& bw) {
           if (shape.empty()) return bw.set(0, reshape(bw.grad(), shape));
           const Tensor g = bw.grad();
           bw.set(0, scatter_add(zeros(shape, dtype, g.device()), axis, si.get(), g));
         });
}

}  // namespace

Sorted sort_along(const Tensor& t, int64_t axis, bool descending, bool with_indices) {
  Sorted out = run("sort", t, axis, -1, descending, with_indices || needs_grad(t));
  record_order("sort", t, axis, out);
  return out;
}

Tensor argsort(const Tensor& t, int64_t axis, bool descending) {
  return run("argsort", t, axis, -1, descending, true).indices;
}

Sorted topk(const Tensor& t, int64_t k, int64_t axis, bool largest) {
  const int64_t n = t.ndim() == 0 ? 1 : t.shape()[normalize_axis("topk", axis, t.ndim())];
  check(k >= 0 && k <= n, "topk: k is ", k, ", but axis ", axis, " of shape ",
        to_string(t.shape()), " holds ", n, " elements");
  check(t.ndim() > 0, "topk: expected a tensor of at least 1 dimension, got a 0-d one");
  Sorted out = run("topk", t, axis, k, largest, true);
  record_order("topk", t, axis, out);
  return out;
}

Tensor searchsorted(const Tensor& sorted, const Tensor& values, bool right) {
  check_ordered("searchsorted", sorted);
  check_ordered("searchsorted", values);
  check(sorted.device() == values.device(), "searchsorted: the sorted values are on '",
        device_text(sorted.device()), "', those to find on '", device_text(values.device()),
        "'; move one with .to(device)");
  check(sorted.ndim() == 1, "searchsorted: expected sorted values of 1 dimension, got shape ",
        to_string(sorted.shape()));
  GradMode off(false);
  const DType dtype = promote(sorted.dtype(), values.dtype());
  const Tensor among = contiguous(astype(sorted, dtype)), wanted = contiguous(astype(values, dtype));
  const Tensor out = empty(values.shape(), DType::kI64, values.device());
  search_kernel.on(values.device().type)(
      {among.data(), among.numel(), wanted.data(), wanted.numel(), right, out.data<int64_t>()},
      dtype);
  return out;
}

Tensor bincount(const Tensor& t, int64_t minlength) {
  check<TypeError>(is_integral(t.dtype()), "bincount: expected integers, got ",
                   dtype_name(t.dtype()));
  check(t.ndim() == 1, "bincount: expected a tensor of 1 dimension, got shape ",
        to_string(t.shape()));
  check(minlength >= 0, "bincount: minlength ", minlength, " is negative");
  const Tensor values = contiguous(astype(t, DType::kI64));
  int64_t length = minlength;
  if (values.numel() > 0) {
    GradMode off(false);
    const int64_t least = *to_host(min(values, {}, false)).data<int64_t>();
    check(least >= 0, "bincount: expected values of at least 0, got ", least, " at position ",
          least < 0 ? *to_host(argmin(values, {}, false)).data<int64_t>() : 0);
    length = std::max(length, *to_host(max(values, {}, false)).data<int64_t>() + 1);
  }
  const Tensor out = zeros({length}, DType::kI64, t.device());
  bincount_kernel.on(t.device().type)(values.data<int64_t>(), values.numel(), out.data<int64_t>(),
                                      length);
  return out;
}

}  // namespace zoo
