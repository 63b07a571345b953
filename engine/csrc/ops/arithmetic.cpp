// Pointwise operations: ops/pointwise.def expanded into functions that record themselves.
#include "autograd/arithmetic.h"

#include <cstring>
#include <limits>

#include "autograd/node.h"
#include "kernels/pointwise.h"
#include "ops/complex.h"
#include "ops/ops.h"

namespace zoo {
namespace {

enum Saves { NONE = 0, X = 1, Y = 2, XY = 3, A = 1, B = 2, AB = 3, ABY = 7 };
enum Domain { NUMBERS, FLOATS };

// What the gradient expressions of pointwise.def use, over Tensors.
Tensor zero(const Tensor& t) { return zeros_like(t); }
// The derivative of sinc from operations that have derivatives; 0 at 0, where both terms cancel.
Tensor sinc_slope(const Tensor& x) {
  const Tensor at_zero = equal(x, scalar(0, x.dtype()));
  const Tensor t = where(at_zero, scalar(1, x.dtype()), x);
  const Tensor slope = (cos(t * 3.141592653589793) - sinc(t)) / t;
  // Near 0 it is -pi^2 x / 3, which also gives the second derivative there.
  return where(at_zero, x * -3.289868133696453, slope);
}
Tensor operator<(const Tensor& a, double b) { return less(a, scalar(b, a.dtype())); }
Tensor operator<=(const Tensor& a, double b) { return less_equal(a, scalar(b, a.dtype())); }
Tensor operator==(const Tensor& a, double b) { return equal(a, scalar(b, a.dtype())); }
Tensor operator>(const Tensor& a, double b) { return greater(a, scalar(b, a.dtype())); }
Tensor operator<(const Tensor& a, const Tensor& b) { return less(a, b); }
Tensor operator>(const Tensor& a, const Tensor& b) { return greater(a, b); }
Tensor operator==(const Tensor& a, const Tensor& b) { return equal(a, b); }
Tensor operator!=(const Tensor& a, const Tensor& b) { return not_equal(a, b); }

// ---- one operand -------------------------------------------------------------------------------

struct UnaryRule {
  const char* name;
  const UnaryKernel& forward;
  const UnaryGradKernel& backward;
  int saves;
  Domain domain;
  Tensor (*gradient)(const Tensor& x, const Tensor& y, const Tensor& g, double p, double q);
};

Tensor apply_complex_unary(const UnaryRule& rule, const Tensor& x);

// x and y are undefined where the rule does not read them.
Tensor unary_gradient(const UnaryRule& rule, const Tensor& x, const Tensor& y, const Tensor& g,
                      double p, double q) {
  if (grad_enabled()) return rule.gradient(x, y, g, p, q);
  Tensor out = empty_like(x.defined() ? x : y.defined() ? y : g);
  rule.backward.on(g.device().type)(
      make_loop(out.shape(), {&out, x.defined() ? &x : &g, y.defined() ? &y : &g, &g}), g.dtype(),
      p, q);
  return out;
}

Tensor apply_unary(const UnaryRule& rule, const Tensor& input, double p, double q) {
  Tensor x = input;
  if (is_complex(x.dtype())) [[unlikely]] return apply_complex_unary(rule, x);
  if (rule.domain == FLOATS && !is_floating(x.dtype())) x = astype(x, DType::kF32);
  check<TypeError>(!is_bool(x.dtype()), rule.name,
                   ": expected numbers, got bool; convert with astype first");
  Tensor y = empty_like(x);
  rule.forward.on(x.device().type)(make_loop(y.shape(), {&y, &x}), x.dtype(), p, q);
  if (needs_grad(x)) {
    Saved sx = rule.saves & X ? Saved(x) : Saved();
    Saved sy = rule.saves & Y ? Saved::output(y) : Saved();
    record(rule.name, {x}, {y}, [&rule, p, q, sx, sy](Backward& bw) {
      bw.set(0, unary_gradient(rule, sx.get(), sy.get(), bw.grad(), p, q));
    });
  }
  return y;
}

#define ZOO_UNARY(name, forward, grad, saves, domain, doc)                                       \
  const UnaryRule name##_rule{                                                                   \
      #name, name##_kernel, name##_grad_kernel, saves, domain,                                   \
      []([[maybe_unused]] const Tensor& x, [[maybe_unused]] const Tensor& y,                     \
         [[maybe_unused]] const Tensor& g, [[maybe_unused]] double p,                            \
         [[maybe_unused]] double q) -> Tensor { return grad; }};
#define ZOO_UNARY_PARAM ZOO_UNARY
#include "ops/pointwise.def"

Tensor apply_complex_unary(const UnaryRule& rule, const Tensor& x) {
  Tensor y = compute_complex(rule.name, {x});
  if (!needs_grad(x)) return y;
  Saved sx = rule.saves & X || &rule == &sign_rule ? Saved(x) : Saved();
  Saved sy = rule.saves & Y ? Saved::output(y) : Saved();
  record(rule.name, {x}, {y}, [&rule, sx, sy](Backward& bw) {
    const Tensor g = bw.grad(), x = sx.get();
    if (&rule == &abs_rule) {  // the two that are not holomorphic
      bw.set(0, g * sign(x));
    } else if (&rule == &sign_rule) {
      const Tensor s = sign(x);
      bw.set(0, (g - s * real(g * conj(s))) / abs(x));
    } else {
      bw.set(0, rule.gradient(conj(x), conj(sy.get()), g, 0, 0));
    }
  });
  return y;
}

// ---- two operands ------------------------------------------------------------------------------

struct BinaryRule {
  const char* name;
  const BinaryKernel& forward;
  int saves;
  Domain domain;
  Tensor (*gradient_a)(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& g);
  Tensor (*gradient_b)(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& g);
};

// A result takes the memory order of an operand of its own shape, if there is one.
Tensor empty_result(const Dims& shape, DType dtype, Device device, const Tensor& a,
                    const Tensor& b) {
  if (a.shape() == shape && a.device() == device) return empty_like(a, dtype);
  if (b.shape() == shape && b.device() == device) return empty_like(b, dtype);
  return empty(shape, dtype, device);
}

// `t` in another dtype for an operation on `device`. A number of the host's whose gradient is wanted
// goes there itself, so that the gradient finds its way back.
Tensor operand_for(const Tensor& t, DType dtype, Device device) {
  const Tensor converted = astype(t, dtype);
  const bool stays = converted.device() == device || !needs_grad(converted);
  return stays ? converted : to_device(converted, device);
}

void record_binary(const BinaryRule& rule, const Tensor& a, const Tensor& b, const Tensor& y,
                   Saved sa, Saved sb) {
  Saved sy = rule.saves == ABY ? Saved::output(y) : Saved();
  const Dims shape_a = a.shape(), shape_b = b.shape();
  auto backward = [&rule, sa, sb, sy, shape_a, shape_b](Backward& bw) {
    const Tensor g = bw.grad(), a = conj(sa.get()), b = conj(sb.get()), y = conj(sy.get());
    if (bw.wants(0)) bw.set(0, unbroadcast(rule.gradient_a(a, b, y, g), shape_a));
    if (bw.wants(1)) bw.set(1, unbroadcast(rule.gradient_b(a, b, y, g), shape_b));
  };
  if (y.same_impl(a)) {
    record_inplace(rule.name, {a, b}, y, std::move(backward));
  } else {
    record(rule.name, {a, b}, {y}, std::move(backward));
  }
}

// Which operands the rule will read. Each factor of a product only serves the other's gradient.
std::pair<bool, bool> operands_to_save(const BinaryRule& rule, const Tensor& a, const Tensor& b) {
  const bool product = &rule.forward == &multiply_kernel;
  return {(rule.saves & A) && (!product || b.requires_grad()),
          (rule.saves & B) && (!product || a.requires_grad())};
}

// Arithmetic on bool happens in uint8 and counts as true unless it is 0, where that has a meaning.
Tensor apply_to_bools(const BinaryRule& rule, const Tensor& a, const Tensor& b);

Tensor apply_binary(const BinaryRule& rule, const Tensor& left, const Tensor& right) {
  const Device device = common_device(rule.name, {&left, &right});
  DType dtype = promote(left.dtype(), right.dtype());
  if (rule.domain == FLOATS && !is_differentiable(dtype)) dtype = DType::kF32;
  if (is_bool(dtype)) return apply_to_bools(rule, left, right);
  Tensor converted_a, converted_b;
  const auto ready = [&](const Tensor& t) { return t.dtype() == dtype && t.device() == device; };
  const Tensor& a = ready(left) ? left : converted_a = operand_for(left, dtype, device);
  const Tensor& b = ready(right) ? right : converted_b = operand_for(right, dtype, device);
  const Dims shape = broadcast_shapes(rule.name, a.shape(), b.shape());
  Tensor y;
  if (is_complex(dtype)) [[unlikely]] {
    y = compute_complex(rule.name, {a, b});
  } else {
    y = empty_result(shape, dtype, device, a, b);
    rule.forward.on(device.type)(make_loop(shape, {&y, &a, &b}), dtype);
  }
  if (needs_grad(a, b)) {
    const auto [saves_a, saves_b] = operands_to_save(rule, a, b);
    record_binary(rule, a, b, y, saves_a ? Saved(a) : Saved(), saves_b ? Saved(b) : Saved());
  }
  return y;
}

Tensor apply_to_bools(const BinaryRule& rule, const Tensor& a, const Tensor& b) {
  const bool meaningful = &rule.forward == &add_kernel || &rule.forward == &multiply_kernel ||
                          &rule.forward == &maximum_kernel || &rule.forward == &minimum_kernel;
  check<TypeError>(meaningful, rule.name,
                   ": not defined for two bool tensors; use logical_and, logical_or or "
                   "logical_xor, or convert with astype first");
  return astype(apply_binary(rule, astype(a, DType::kU8), astype(b, DType::kU8)), DType::kBool);
}

#define ZOO_BINARY(name, forward, grad_a, grad_b, saves, domain, doc)                            \
  const BinaryRule name##_rule{                                                                  \
      #name, name##_kernel, saves, domain,                                                       \
      []([[maybe_unused]] const Tensor& a, [[maybe_unused]] const Tensor& b,                     \
         [[maybe_unused]] const Tensor& y, const Tensor& g) -> Tensor { return grad_a; },        \
      []([[maybe_unused]] const Tensor& a, [[maybe_unused]] const Tensor& b,                     \
         [[maybe_unused]] const Tensor& y, const Tensor& g) -> Tensor { return grad_b; }};
#include "ops/pointwise.def"

Tensor apply_compare(const char* name, const BinaryKernel& kernel, const Tensor& left,
                     const Tensor& right) {
  const Device device = common_device(name, {&left, &right});
  const DType dtype = promote(left.dtype(), right.dtype());
  const Tensor a = astype(left, dtype), b = astype(right, dtype);
  const Dims shape = broadcast_shapes(name, a.shape(), b.shape());
  if (is_complex(dtype)) [[unlikely]] return compute_complex(name, {a, b});
  Tensor y = empty_result(shape, DType::kBool, device, a, b);
  kernel.on(device.type)(make_loop(shape, {&y, &a, &b}), dtype);
  return y;
}

Tensor apply_bitwise(const char* name, const BinaryKernel& kernel, const Tensor& left,
                     const Tensor& right) {
  const Device device = common_device(name, {&left, &right});
  const DType dtype = promote(left.dtype(), right.dtype());
  const bool shifts = &kernel == &bitwise_left_shift_kernel || &kernel == &bitwise_right_shift_kernel;
  check<TypeError>(!shifts || !is_bool(dtype), name, ": expected integers, got bool");
  check<TypeError>(!is_differentiable(dtype), name, ": expected integers or bool, got ",
                   dtype_name(left.dtype()), " and ", dtype_name(right.dtype()));
  const Tensor a = astype(left, dtype), b = astype(right, dtype);
  const Dims shape = broadcast_shapes(name, a.shape(), b.shape());
  Tensor y = empty_result(shape, dtype, device, a, b);
  kernel.on(device.type)(make_loop(shape, {&y, &a, &b}), dtype);
  return y;
}

const BinaryRule& rule_named(const char* name) {
#define ZOO_BINARY(row, ...) \
  if (std::strcmp(name, #row) == 0) return row##_rule;
#include "ops/pointwise.def"
  throw ValueError(concat_text("no binary operation is called '", name, "'"));
}

}  // namespace

#define ZOO_UNARY(name, ...) \
  Tensor name(const Tensor& x) { return apply_unary(name##_rule, x, 0, 0); }
#define ZOO_UNARY_PARAM(name, ...) \
  Tensor name(const Tensor& x, double p, double q) { return apply_unary(name##_rule, x, p, q); }
#define ZOO_BINARY(name, ...) \
  Tensor name(const Tensor& a, const Tensor& b) { return apply_binary(name##_rule, a, b); }
#define ZOO_COMPARE(name, ...)                           \
  Tensor name(const Tensor& a, const Tensor& b) {        \
    return apply_compare(#name, name##_kernel, a, b);    \
  }
#define ZOO_BITWISE(name, ...)                           \
  Tensor name(const Tensor& a, const Tensor& b) {        \
    return apply_bitwise(#name, name##_kernel, a, b);    \
  }
#define ZOO_PREDICATE(name, ...)                                                             \
  Tensor name(const Tensor& x) {                                                             \
    if (is_complex(x.dtype())) [[unlikely]] return compute_complex(#name, {x});              \
    Tensor y = empty_like(x, DType::kBool);                                                  \
    name##_kernel.on(x.device().type)(make_loop(y.shape(), {&y, &x}), x.dtype(), 0, 0);      \
    return y;                                                                                \
  }
#include "ops/pointwise.def"

Tensor relu_gradient(const Tensor& y, const Tensor& g) {
  return unary_gradient(relu_rule, Tensor(), y, g, 0, 0);
}

Tensor where(const Tensor& condition, const Tensor& left, const Tensor& right) {
  check<TypeError>(is_bool(condition.dtype()), "where: the condition must be bool, got ",
                   dtype_name(condition.dtype()));
  const Device device = common_device("where", {&condition, &left, &right});
  const DType dtype = promote(left.dtype(), right.dtype());
  const Tensor a = operand_for(left, dtype, device), b = operand_for(right, dtype, device);
  const Dims shape = broadcast_shapes("where", broadcast_shapes("where", a.shape(), b.shape()),
                                      condition.shape());
  Tensor y = empty_result(shape, dtype, device, a, b);
  where_kernel.on(device.type)(make_loop(shape, {&y, &condition, &a, &b}), dtype);
  if (needs_grad(a, b)) {
    const Dims shape_a = a.shape(), shape_b = b.shape();
    record("where", {a, b}, {y}, [c = Saved(condition), shape_a, shape_b](Backward& bw) {
      const Tensor g = bw.grad(), condition = c.get();
      const Tensor none = scalar(0, g.dtype());
      if (bw.wants(0)) bw.set(0, unbroadcast(where(condition, g, none), shape_a));
      if (bw.wants(1)) bw.set(1, unbroadcast(where(condition, none, g), shape_b));
    });
  }
  return y;
}

namespace {

// A bound of `clip` for tensors of `dtype`, if it is one number that nobody differentiates by.
std::optional<double> constant_bound(const std::optional<Tensor>& bound, double none, DType dtype) {
  if (!bound) return none;
  if (bound->ndim() != 0 || bound->dtype() != dtype || bound->requires_grad() ||
      bound->device().type != DeviceType::kCPU) {
    return std::nullopt;
  }
  return astype(*bound, DType::kF64).data<double>()[0];
}

}  // namespace

Tensor clip(const Tensor& x, const std::optional<Tensor>& low, const std::optional<Tensor>& high) {
  if (is_floating(x.dtype())) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const auto p = constant_bound(low, -kInfinity, x.dtype());
    const auto q = constant_bound(high, kInfinity, x.dtype());
    if (p && q && *p <= *q) return clamp(x, *p, *q);
  }
  // NaN compares false and stays; a bound itself passes its gradient on.
  Tensor y = x;
  if (low) y = where(less(y, *low), *low, y);
  if (high) y = where(greater(y, *high), *high, y);
  return y;
}

Tensor unbroadcast(const Tensor& g, const Dims& shape) {
  if (g.shape() == shape) return g;
  Dims axes;
  const int shift = g.ndim() - shape.size();
  for (int i = 0; i < g.ndim(); ++i) {
    if (i < shift || (shape[i - shift] == 1 && g.shape()[i] != 1)) axes.push_back(i);
  }
  Tensor summed = axes.empty() ? g : sum(g, axes, true);
  return summed.shape() == shape ? summed : reshape(summed, shape);
}

Tensor binary_inplace(const char* name, const Tensor& a, const Tensor& other) {
  const BinaryRule& rule = rule_named(name);
  check(common_device(name, {&a, &other}) == a.device(), name, ": in place, a number on 'cpu' "
        "cannot take a tensor on '", device_text(other.device()), "'; move one with .to(device)");
  const Dims shape = broadcast_shapes(name, a.shape(), other.shape());
  check(shape == a.shape(), name, ": in place, the result must fit ", to_string(a.shape()),
        ", but broadcasting with ", to_string(other.shape()), " gives ", to_string(shape));
  const DType dtype = promote(a.dtype(), other.dtype());
  check<TypeError>(dtype == a.dtype() && !is_bool(dtype) &&
                       (rule.domain == NUMBERS || is_differentiable(dtype)),
                   name, ": in place, the result would be ", dtype_name(dtype),
                   ", which a tensor of ", dtype_name(a.dtype()),
                   " cannot hold; use the operation that makes a new tensor");
  Tensor b = operand_for(other, dtype, a.device());
  if (b.storage() == a.storage() && !(b.shape() == a.shape() && b.strides() == a.strides() &&
                                      b.offset() == a.offset())) {
    b = clone(b);  // overlapping memory that would be read after it was written
  }
  const bool records = needs_grad(a, b);
  check_inplace(name, a, records);
  // The rule needs what `a` held before.
  Saved before;
  const auto [saves_a, saves_b] = operands_to_save(rule, a, b);
  if (records && saves_a) {
    Tensor copy;
    {
      GradMode off(false);
      copy = clone(a);
    }
    if (a.grad_fn()) {  // with a's history, for gradients of gradients
      copy.impl()->autograd().grad_fn = a.grad_fn();
      copy.impl()->autograd().output_nr = a.impl()->meta->output_nr;
    }
    before = Saved(copy);
  }
  Saved sb = records && saves_b ? Saved(b.same_impl(a) ? clone(b) : b) : Saved();
  if (is_complex(dtype)) [[unlikely]] {
    const Tensor y = compute_complex(name, {a, b});
    copy_kernel.on(a.device().type)(make_loop(shape, {&a, &y}), dtype, dtype);
  } else {
    rule.forward.on(a.device().type)(make_loop(shape, {&a, &a, &b}), dtype);
  }
  a.storage()->bump_version();
  if (records) record_binary(rule, a, b, a, before, sb);
  return a;
}

// ---- for the tape ------------------------------------------------------------------------------

Tensor zeros_for_gradient(const Dims& shape, DType dtype, Device device) {
  return zeros(shape, dtype, device);
}
Tensor ones_for_gradient(const Tensor& root) { return ones_like(root); }
Tensor copy_gradient(const Tensor& g) { return clone(g); }
Tensor sum_gradients(const Tensor& a, const Tensor& b, bool own_a) {
  return own_a && a.dtype() == b.dtype() ? binary_inplace("add", a, b) : add(a, b);
}

}  // namespace zoo
