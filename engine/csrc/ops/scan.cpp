// Scans along one axis. Every gradient is again a scan, so that gradients of gradients exist.
#include "kernels/scan.h"

#include <cmath>
#include <limits>

#include "autograd/node.h"
#include "ops/complex.h"
#include "ops/ops.h"

namespace zoo {
namespace {

ScanArgs plan(const Tensor& in, int axis, const Tensor& out) {
  ScanArgs args;
  args.in = in.data();
  args.out = out.data();
  for (int d = 0; d < in.ndim(); ++d) {
    if (d < axis) args.outer *= in.shape()[d];
    if (d > axis) args.inner *= in.shape()[d];
  }
  args.n = in.shape()[axis];
  return args;
}

int checked_axis(const char* op, const Tensor& t, int64_t axis) {
  check(t.ndim() >= 1, op, ": expected a tensor of at least 1 dimension, got a 0-d one");
  return normalize_axis(op, axis, t.ndim());
}

// The dtype running sums and products of `t` have: small integers widen.
DType widened(DType t) {
  if (is_integral(t) || is_bool(t)) return is_unsigned(t) ? DType::kU64 : DType::kI64;
  return t;
}

Tensor run(const ScanKernel& kernel, const Tensor& t, int axis) {
  GradMode off(false);
  const Tensor in = contiguous(t);
  const Tensor out = empty(in.shape(), in.dtype(), in.device());
  if (in.numel() > 0) kernel.on(t.device().type)(plan(in, axis, out), t.dtype());
  return out;
}

Tensor reversed(const Tensor& t, int axis) { return flip(t, {axis}); }

// y[i] = t[i + 1], the last place holding `fill`; or the other way round.
Tensor shifted(const Tensor& t, int axis, bool forward, double fill) {
  const int64_t n = t.shape()[axis];
  Dims one = t.shape();
  one[axis] = 1;
  const Tensor edge = full(one, fill, t.dtype(), t.device());
  return forward ? concat({edge, slice(t, axis, 0, n - 1, 1)}, axis)
                 : concat({slice(t, axis, 1, n - 1, 1), edge}, axis);
}

// s[i] = b[i] + a[i + 1] * s[i + 1]
Tensor backward_scan(const Tensor& a, const Tensor& b, int axis) {
  return reversed(
      linear_scan(reversed(shifted(a, axis, false, 0), axis), reversed(b, axis), axis), axis);
}

// Running products of complex numbers, in log2(n) steps: no kernel knows them.
Tensor products_by_doubling(Tensor x, int axis) {
  const int64_t n = x.shape()[axis];
  for (int64_t step = 1; step < n; step *= 2) {
    const Tensor head = slice(x, axis, 0, step, 1);
    const Tensor tail = slice(x, axis, step, n - step, 1) * slice(x, axis, 0, n - step, 1);
    x = concat({head, tail}, axis);
  }
  return x;
}

Sorted extreme(const char* name, const ScanKernel& kernel, const Tensor& t, int64_t axis) {
  const int a = checked_axis(name, t, axis);
  check_ordered(name, t);
  Sorted out;
  {
    GradMode off(false);
    const Tensor in = contiguous(t);
    out.values = empty(in.shape(), in.dtype(), in.device());
    out.indices = empty(in.shape(), DType::kI64, in.device());
    ScanArgs args = plan(in, a, out.values);
    args.indices = out.indices.data<int64_t>();
    if (in.numel() > 0) kernel.on(t.device().type)(args, t.dtype());
  }
  if (needs_grad(t)) {
    record(name, {t}, {out.values},
           [a, si = Saved(out.indices), shape = t.shape(), dtype = t.dtype()](Backward& bw) {
             const Tensor g = bw.grad();
             bw.set(0, scatter_add(zeros(shape, dtype, g.device()), a, si.get(), g));
           });
  }
  return out;
}

}  // namespace

Tensor cumsum(const Tensor& t, int64_t axis, std::optional<DType> dtype) {
  const int a = checked_axis("cumsum", t, axis);
  const Tensor x = astype(t, dtype.value_or(widened(t.dtype())));
  check<TypeError>(!is_bool(x.dtype()), "cumsum: bool cannot hold the sums; use an integer dtype");
  if (is_complex(x.dtype())) {
    return join_parts(cumsum(real(x), a, {}), cumsum(imag(x), a, {}));
  }
  Tensor out = run(cumsum_kernel, x, a);
  if (needs_grad(x)) {
    record("cumsum", {x}, {out}, [a](Backward& bw) {
      bw.set(0, reversed(cumsum(reversed(bw.grad(), a), a, {}), a));
    });
  }
  return out;
}

Tensor cumprod(const Tensor& t, int64_t axis, std::optional<DType> dtype) {
  const int a = checked_axis("cumprod", t, axis);
  const Tensor x = astype(t, dtype.value_or(widened(t.dtype())));
  check<TypeError>(!is_bool(x.dtype()),
                   "cumprod: bool cannot hold the products; use an integer dtype");
  if (is_complex(x.dtype())) return products_by_doubling(x, a);
  Tensor out = run(cumprod_kernel, x, a);
  if (needs_grad(x) && x.numel() > 0) {
    record("cumprod", {x}, {out}, [a, sx = Saved(x)](Backward& bw) {
      // The product before x[k], times what follows it: sum of g[i] x[k + 1] ... x[i] over
      // i >= k. Nothing is divided, so zeros need no care.
      const Tensor x = sx.get();
      const Tensor before = cumprod(shifted(x, a, true, 1), a, {});
      bw.set(0, before * backward_scan(x, bw.grad(), a));
    });
  }
  return out;
}

Sorted cummax(const Tensor& t, int64_t axis) { return extreme("cummax", cummax_kernel, t, axis); }
Sorted cummin(const Tensor& t, int64_t axis) { return extreme("cummin", cummin_kernel, t, axis); }

Tensor logcumsumexp(const Tensor& t, int64_t axis) {
  const int a = checked_axis("logcumsumexp", t, axis);
  check<TypeError>(is_floating(t.dtype()), "logcumsumexp: expected a floating-point dtype, got ",
                   dtype_name(t.dtype()));
  Tensor out = run(logcumsumexp_kernel, t, a);
  if (needs_grad(t) && t.numel() > 0) {
    record("logcumsumexp", {t}, {out}, [a, sx = Saved(t), sy = Saved::output(out)](Backward& bw) {
      // sum of g[i] exp(x[k] - y[i]) over i >= k, as exp(x[k] - y[k]) times a scan whose factors
      // exp(y[k] - y[k + 1]) are at most 1.
      const Tensor x = sx.get(), y = sy.get();
      const Tensor none = equal(y, scalar(-std::numeric_limits<double>::infinity(), y.dtype()));
      const Tensor zero = scalar(0, y.dtype());
      const Tensor finite = where(none, zero, y);
      const Tensor before = shifted(finite, a, true, 0);
      const Tensor had_none = astype(shifted(astype(none, y.dtype()), a, true, 1), DType::kBool);
      // Masked before exp, too: infinity times 0 would be NaN in second gradients.
      const Tensor factor = where(had_none, zero, exp(where(had_none, zero, before - finite)));
      const Tensor own = where(none, zero, exp(where(none, zero, x - finite)));
      bw.set(0, own * backward_scan(factor, bw.grad(), a));
    });
  }
  return out;
}

Tensor linear_scan(const Tensor& left, const Tensor& right, int64_t axis) {
  const DType dtype = promote(left.dtype(), right.dtype());
  check<TypeError>(is_floating(dtype), "linear_scan: expected floating-point dtypes, got ",
                   dtype_name(left.dtype()), " and ", dtype_name(right.dtype()));
  const Dims shape = broadcast_shapes("linear_scan", left.shape(), right.shape());
  const Tensor factor = broadcast_to(astype(left, dtype), shape);
  const Tensor x = broadcast_to(astype(right, dtype), shape);
  const int a = checked_axis("linear_scan", x, axis);
  Tensor out;
  {
    GradMode off(false);
    const Tensor in = contiguous(x), by = contiguous(factor);
    out = empty(shape, dtype, x.device());
    ScanArgs args = plan(in, a, out);
    args.factor = by.data();
    if (in.numel() > 0) linear_scan_kernel.on(x.device().type)(args, dtype);
  }
  if (needs_grad(factor, x) && x.numel() > 0) {
    record("linear_scan", {factor, x}, {out},
           [a, sf = Saved(factor), sy = Saved::output(out)](Backward& bw) {
             const Tensor factor = sf.get();
             const Tensor s = backward_scan(factor, bw.grad(), a);
             if (bw.wants(0)) bw.set(0, s * shifted(sy.get(), a, true, 0));
             if (bw.wants(1)) bw.set(1, s);
           });
  }
  return out;
}

}  // namespace zoo
