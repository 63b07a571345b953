// Reductions and their gradients.
#include "kernels/reduce.h"

#include <algorithm>
#include <numeric>

#include "autograd/node.h"
#include "ops/complex.h"
#include "ops/ops.h"

namespace zoo {
namespace {

struct Reduction {
  bool reduce[kMaxDims] = {};
  Dims kept_shape;   // with the reduced axes gone
  Dims shape_of_one;  // with the reduced axes of size 1
  int64_t count = 1;  // elements that each result combines
};

Reduction resolve(const char* op, const Tensor& t, const Axes& axes) {
  Reduction r;
  if (axes) {
    for (int64_t a : *axes) {
      const int axis = normalize_axis(op, a, t.ndim());
      check(!r.reduce[axis], op, ": axis ", axis, " appears twice in ", to_string(*axes));
      r.reduce[axis] = true;
    }
  } else {
    for (int i = 0; i < t.ndim(); ++i) r.reduce[i] = true;
  }
  for (int i = 0; i < t.ndim(); ++i) {
    r.shape_of_one.push_back(r.reduce[i] ? 1 : t.shape()[i]);
    if (r.reduce[i]) {
      r.count *= t.shape()[i];
    } else {
      r.kept_shape.push_back(t.shape()[i]);
    }
  }
  return r;
}

Tensor run(const ReduceKernel& kernel, const Tensor& t, const Reduction& r, DType out_dtype,
           bool keepdims) {
  Tensor out = empty(keepdims ? r.shape_of_one : r.kept_shape, out_dtype, t.device());
  kernel.on(t.device().type)(make_reduction(t, r.reduce), t.dtype(), out.data());
  return out;
}

Tensor accumulate(const ReduceKernel& kernel, const Tensor& t, const Reduction& r, DType dtype,
                  bool keepdims) {
  const DType wide = is_floating(t.dtype()) ? DType::kF64 : DType::kI64;
  return astype(run(kernel, t, r, wide, keepdims), dtype);
}

// Small integers and bool accumulate into the default integer of their kind.
DType accumulated_dtype(DType t) {
  if (is_differentiable(t)) return t;
  return is_unsigned(t) ? DType::kU64 : DType::kI64;
}

// `g`, of the result's shape, spread over the operand's.
Tensor spread(const Tensor& g, const Dims& shape_of_one, const Dims& shape) {
  return broadcast_to(reshape(g, shape_of_one), shape);
}

Tensor sum_as(const char* name, const Tensor& t, const Reduction& r, DType dtype, bool keepdims) {
  Tensor out = accumulate(sum_kernel, t, r, dtype, keepdims);
  if (is_floating(t.dtype()) && is_floating(dtype) && needs_grad(t)) {
    record(name, {t}, {out},
           [one = r.shape_of_one, shape = t.shape(), from = t.dtype()](Backward& bw) {
             bw.set(0, spread(astype(bw.grad(), from), one, shape));
           });
  }
  return out;
}

Tensor extreme(const char* name, const ReduceKernel& kernel, const Tensor& t, const Axes& axes,
               bool keepdims) {
  check_ordered(name, t);
  const Reduction r = resolve(name, t, axes);
  check(r.count > 0 || r.kept_shape.product() == 0, name, ": a tensor of shape ",
        to_string(t.shape()), " has no elements along the reduced axes");
  Tensor out = run(kernel, t, r, t.dtype(), keepdims);
  if (is_floating(t.dtype()) && needs_grad(t)) {
    record(name, {t}, {out},
           [sx = Saved(t), sy = Saved::output(out), one = r.shape_of_one](Backward& bw) {
             const Tensor x = sx.get();
             // Equal extremes share the gradient.
             const Tensor chosen = astype(equal(x, reshape(detach(sy.get()), one)), x.dtype());
             Dims axes;
             for (int i = 0; i < x.ndim(); ++i) {
               if (one[i] != x.shape()[i]) axes.push_back(i);
             }
             const Tensor share = reshape(bw.grad(), one) / sum(chosen, axes, true);
             bw.set(0, chosen * share);
           });
  }
  return out;
}

// For each element the product of the others along the axes, as a polynomial in them: unlike a
// quotient it has derivatives where elements are 0. Takes a factor of their number in memory.
Tensor products_of_others(const Tensor& x, const Dims& axes) {
  Dims order;
  for (int i = 0; i < x.ndim(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) order.push_back(i);
  }
  int64_t n = 1;
  for (int64_t a : axes) {
    order.push_back(a);
    n *= x.shape()[a];
  }
  const Tensor moved = permute_dims(x, order);
  const Tensor rows = reshape(moved, {n == 0 ? 0 : x.numel() / n, 1, n});
  const Tensor own =
      equal(to_device(eye(n, n, 0, x.dtype()), x.device()), scalar(1, x.dtype()));
  const Tensor others = prod(where(own, scalar(1, x.dtype()), rows), Dims{2}, false);
  Dims back(x.ndim(), 0);
  for (int i = 0; i < order.size(); ++i) back[order[i]] = i;
  return permute_dims(reshape(others, moved.shape()), back);
}

Tensor truth(const ReduceKernel& kernel, const char* name, const Tensor& t, const Axes& axes,
             bool keepdims) {
  const Tensor x = is_complex(t.dtype()) ? astype(t, DType::kBool) : t;
  return run(kernel, x, resolve(name, x, axes), DType::kBool, keepdims);
}

Tensor arg_extreme(const char* name, const ReduceKernel& kernel, const Tensor& t,
                   std::optional<int64_t> axis, bool keepdims) {
  check_ordered(name, t);
  const Reduction r = resolve(name, t, axis ? Axes(Dims{*axis}) : Axes());
  check(r.count > 0, name, ": a tensor of shape ", to_string(t.shape()),
        " has no elements along the reduced axes");
  return run(kernel, t, r, DType::kI64, keepdims);
}

// The product of complex numbers; records nothing.
Tensor complex_prod(const Tensor& x, const Reduction& r, bool keepdims) {
  GradMode off(false);
  Dims order;
  for (const bool reduced : {false, true}) {
    for (int i = 0; i < x.ndim(); ++i) {
      if (r.reduce[i] == reduced) order.push_back(i);
    }
  }
  const Tensor rows = reshape(permute_dims(x, order), {r.kept_shape.product(), r.count});
  return reshape(compute_complex("prod", {rows}), keepdims ? r.shape_of_one : r.kept_shape);
}

}  // namespace

Tensor sum(const Tensor& t, const Axes& axes, bool keepdims, std::optional<DType> dtype) {
  const DType out = dtype.value_or(accumulated_dtype(t.dtype()));
  if (is_complex(out)) {
    const Tensor x = astype(t, out);
    return join_parts(sum(real(x), axes, keepdims), sum(imag(x), axes, keepdims));
  }
  check<TypeError>(!is_complex(t.dtype()), "sum: ", dtype_name(out), " cannot hold the sum of ",
                   dtype_name(t.dtype()), " numbers");
  // An integer sum asked for in floating point adds in floating point.
  const Tensor x = is_floating(out) && !is_floating(t.dtype()) ? astype(t, out) : t;
  return sum_as("sum", x, resolve("sum", x, axes), out, keepdims);
}

Tensor mean(const Tensor& t, const Axes& axes, bool keepdims) {
  if (is_complex(t.dtype())) {
    return join_parts(mean(real(t), axes, keepdims), mean(imag(t), axes, keepdims));
  }
  check<TypeError>(is_floating(t.dtype()), "mean: expected a floating-point dtype, got ",
                   dtype_name(t.dtype()), "; convert with astype first");
  const Reduction r = resolve("mean", t, axes);
  // Divided before rounding to the narrow dtype: a float16 sum would overflow first.
  Tensor out;
  {
    GradMode off(false);
    const Tensor total = run(sum_kernel, t, r, DType::kF64, keepdims);
    out = astype(divide(total, scalar(static_cast<double>(r.count), DType::kF64)), t.dtype());
  }
  if (needs_grad(t)) {
    record("mean", {t}, {out},
           [one = r.shape_of_one, shape = t.shape(), n = r.count](Backward& bw) {
             bw.set(0, spread(bw.grad() / static_cast<double>(n), one, shape));
           });
  }
  return out;
}

Tensor prod(const Tensor& t, const Axes& axes, bool keepdims, std::optional<DType> dtype) {
  const DType out_dtype = dtype.value_or(accumulated_dtype(t.dtype()));
  check<TypeError>(is_complex(out_dtype) || !is_complex(t.dtype()), "prod: ",
                   dtype_name(out_dtype), " cannot hold the product of ", dtype_name(t.dtype()),
                   " numbers");
  const Tensor x = astype(t, is_differentiable(out_dtype) ? out_dtype : t.dtype());
  const Reduction r = resolve("prod", x, axes);
  Tensor out = is_complex(out_dtype) ? complex_prod(x, r, keepdims)
                                     : accumulate(prod_kernel, x, r, out_dtype, keepdims);
  if (is_differentiable(out_dtype) && needs_grad(x)) {
    record("prod", {x}, {out}, [sx = Saved(x), one = r.shape_of_one](Backward& bw) {
      // The product of the others: y / x where nothing is zero; with one zero among them only
      // its own place has a gradient; with more there is none.
      const Tensor x = conj(sx.get()), g = reshape(bw.grad(), one);
      Dims axes;
      for (int i = 0; i < x.ndim(); ++i) {
        if (one[i] != x.shape()[i]) axes.push_back(i);
      }
      const auto has_zero = [&] {
        const Tensor found = zoo::any(equal(detach(x), scalar(0, x.dtype())), {}, false);
        return to_host(found).data<bool>()[0];
      };
      if (grad_enabled() && has_zero()) {
        bw.set(0, g * products_of_others(x, axes));
        return;
      }
      const Tensor none = scalar(0, x.dtype()), unit = scalar(1, x.dtype());
      const Tensor is_zero = equal(x, none);
      const Tensor zeros_in = sum(astype(is_zero, DType::kI64), axes, true);
      const Tensor safe = where(is_zero, unit, x);
      const Tensor others = prod(safe, axes, true) / safe;
      const Tensor at_zero = where(equal(zeros_in, scalar(1, DType::kI64)), others, none);
      const Tensor elsewhere = where(equal(zeros_in, scalar(0, DType::kI64)), others, none);
      bw.set(0, g * where(is_zero, at_zero, elsewhere));
    });
  }
  return out;
}

Tensor max(const Tensor& t, const Axes& axes, bool keepdims) {
  return extreme("max", max_kernel, t, axes, keepdims);
}
Tensor min(const Tensor& t, const Axes& axes, bool keepdims) {
  return extreme("min", min_kernel, t, axes, keepdims);
}
Tensor any(const Tensor& t, const Axes& axes, bool keepdims) {
  return truth(any_kernel, "any", t, axes, keepdims);
}
Tensor all(const Tensor& t, const Axes& axes, bool keepdims) {
  return truth(all_kernel, "all", t, axes, keepdims);
}
Tensor argmax(const Tensor& t, std::optional<int64_t> axis, bool keepdims) {
  return arg_extreme("argmax", argmax_kernel, t, axis, keepdims);
}
Tensor argmin(const Tensor& t, std::optional<int64_t> axis, bool keepdims) {
  return arg_extreme("argmin", argmin_kernel, t, axis, keepdims);
}

Tensor var(const Tensor& t, const Axes& axes, double correction, bool keepdims) {
  const Tensor centred = t - mean(t, axes, true);
  const double n = static_cast<double>(resolve("var", t, axes).count);
  const Tensor squares = is_complex(t.dtype()) ? square(abs(centred)) : centred * centred;
  return sum(squares, axes, keepdims) / (n - correction);
}

Tensor std(const Tensor& t, const Axes& axes, double correction, bool keepdims) {
  return sqrt(var(t, axes, correction, keepdims));
}

}  // namespace zoo
