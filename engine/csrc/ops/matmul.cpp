// Matrix products.
#include <algorithm>

#include "autograd/node.h"
#include "kernels/gemm.h"
#include "ops/complex.h"
#include "ops/fused.h"
#include "ops/ops.h"

namespace zoo {
namespace {

// The dtype a product is computed in. Integers go through double, exact while every partial sum stays
// below 2^53.
DType compute_dtype(DType t, Device device) {
  if (is_complex(t) || has_kernels(t, device)) return t;
  return is_floating(t) ? wide_dtype(t) : DType::kF64;
}

Dims batch_shape(const Tensor& t) { return Dims(t.shape().begin(), t.shape().end() - 2); }

// One step in memory from each matrix of a batch to the next, if there is one.
std::optional<int64_t> batch_stride(const Tensor& t) {
  int64_t stride = 0, run = 0;  // run: elements spanned by the batch axes seen so far
  for (int i = t.ndim() - 3; i >= 0; --i) {
    if (t.shape()[i] == 1) continue;
    if (run == 0) {
      stride = t.strides()[i];
    } else if (t.strides()[i] != run) {
      return std::nullopt;
    }
    run = t.strides()[i] * t.shape()[i];
    if (run == 0 && i > 0) {
      // A broadcast batch: all its axes must be.
      for (int k = 0; k < i; ++k) {
        if (t.shape()[k] != 1 && t.strides()[k] != 0) return std::nullopt;
      }
      return 0;
    }
  }
  return stride;
}

void gemm(const Tensor& a, const Tensor& b, const Tensor& out, const Tensor& bias) {
  if (out.numel() == 0) return;
  if (a.shape().back() == 0) {  // an empty sum
    fill_(out, 0);
    if (bias.defined()) copy_(out, bias);
    return;
  }
  GemmArgs args;
  const int na = a.ndim(), nb = b.ndim(), nc = out.ndim();
  args.m = a.shape()[na - 2];
  args.k = a.shape()[na - 1];
  args.n = b.shape()[nb - 1];
  for (int i = 0; i < nc - 2; ++i) args.batch *= out.shape()[i];
  args.a = a.data();
  args.a_row = a.strides()[na - 2];
  args.a_col = a.strides()[na - 1];
  args.a_batch = *batch_stride(a);
  args.b = b.data();
  args.b_row = b.strides()[nb - 2];
  args.b_col = b.strides()[nb - 1];
  args.b_batch = *batch_stride(b);
  args.c = out.data();
  args.c_row = args.n;
  args.c_batch = args.m * args.n;
  if (bias.defined()) args.bias = bias.data();
  gemm_kernel.on(out.device().type)(out.dtype(), args);
}

Tensor with_batch(const Tensor& t, const Dims& batch) {
  Dims shape = batch;
  shape.push_back(t.shape()[t.ndim() - 2]);
  shape.push_back(t.shape()[t.ndim() - 1]);
  const Tensor wide = broadcast_to(t, shape);
  return batch_stride(wide) ? wide : contiguous(wide);
}

// Both at least 2-d; no recording.
Tensor multiply_matrices(const Tensor& a, const Tensor& b) {
  Dims shape = broadcast_shapes("matmul", batch_shape(a), batch_shape(b));
  const Tensor left = with_batch(a, shape), right = with_batch(b, shape);
  shape.push_back(a.shape()[a.ndim() - 2]);
  shape.push_back(b.shape()[b.ndim() - 1]);
  Tensor out = empty(shape, a.dtype(), a.device());
  gemm(left, right, out, {});
  return out;
}

Tensor transposed(const Tensor& t) { return swapaxes(t, -1, -2); }

// Whether the columns of a matrix are contiguous, not its rows.
bool is_turned(const Tensor& t) {
  return t.ndim() >= 2 && t.strides()[t.ndim() - 2] == 1 && t.strides()[t.ndim() - 1] > 1;
}

// A B, in rows or columns as asked: a gradient in the order of what it belongs to is added to that
// without a copy.
Tensor matmul_turned(const Tensor& a, const Tensor& b, bool turned) {
  return turned ? transposed(matmul(transposed(b), transposed(a))) : matmul(a, b);
}

// All but the last axis as one.
Tensor as_rows(const Tensor& t) {
  int64_t rows = 1;
  for (int i = 0; i + 1 < t.ndim(); ++i) rows *= t.shape()[i];
  return reshape(t, {rows, t.shape().back()});
}

}  // namespace

Tensor matmul(const Tensor& first, const Tensor& second) {
  const Device device = common_device("matmul", {&first, &second});
  const Tensor left = autocast_narrow(first), right = autocast_narrow(second);
  check(left.ndim() >= 1 && right.ndim() >= 1,
        "matmul: expected operands of at least 1 dimension, got shapes ", to_string(left.shape()),
        " and ", to_string(right.shape()));
  const int64_t ka = left.shape().back();
  const int64_t kb = right.shape()[right.ndim() == 1 ? 0 : right.ndim() - 2];
  check(ka == kb, "matmul: shapes ", to_string(left.shape()), " and ", to_string(right.shape()),
        " do not fit: the first has ", ka, " columns, the second ", kb, " rows");
  const DType dtype = promote(left.dtype(), right.dtype());
  const DType computed = compute_dtype(dtype, device);
  if (dtype != computed) {
    AutocastOff exact;
    return astype(matmul(astype(left, computed), astype(right, computed)), dtype);
  }
  const Tensor a = astype(left, dtype), b = astype(right, dtype);
  // Vectors become matrices, and lose that axis again.
  if (a.ndim() == 1) return squeeze(matmul(expand_dims(a, 0), b), {b.ndim() == 1 ? 0 : -2});
  if (b.ndim() == 1) return squeeze(matmul(a, expand_dims(b, -1)), {-1});
  // A stack of rows times one matrix is one tall product.
  if (a.ndim() > 2 && b.ndim() == 2) {
    Dims shape = a.shape();
    shape.back() = b.shape()[1];
    return reshape(matmul(as_rows(a), b), shape);
  }
  Tensor out;
  {
    GradMode off(false);
    out = is_complex(dtype) ? compute_complex("matmul", {a, b}) : multiply_matrices(a, b);
  }
  if (needs_grad(a, b)) {
    // Each factor only serves the other's gradient.
    const Saved sa = b.requires_grad() ? Saved(a) : Saved();
    const Saved sb = a.requires_grad() ? Saved(b) : Saved();
    record("matmul", {a, b}, {out},
           [sa, sb, shape_a = a.shape(), shape_b = b.shape(), turned_a = is_turned(a),
            turned_b = is_turned(b)](Backward& bw) {
             const Tensor g = bw.grad(), a = conj(sa.get()), b = conj(sb.get());
             if (bw.wants(0)) {
               bw.set(0, unbroadcast(matmul_turned(g, transposed(b), turned_a), shape_a));
             }
             if (bw.wants(1)) {
               bw.set(1, unbroadcast(matmul_turned(transposed(a), g, turned_b), shape_b));
             }
           });
  }
  return out;
}

Tensor linear(const Tensor& input, const Tensor& own_weight, const Tensor& own_bias) {
  const Tensor x = autocast_narrow(input), weight = autocast_narrow(own_weight);
  const Tensor bias = autocast_narrow(own_bias);
  check(weight.ndim() == 2, "linear: expected a weight of shape (out, in), got ",
        to_string(weight.shape()));
  check(x.ndim() >= 1 && x.shape().back() == weight.shape()[1], "linear: input of shape ",
        to_string(x.shape()), " has ", x.ndim() ? x.shape().back() : 0,
        " features, the weight of shape ", to_string(weight.shape()), " expects ",
        weight.shape()[1]);
  check(!bias.defined() || bias.shape() == Dims{weight.shape()[0]}, "linear: expected a bias of ",
        weight.shape()[0], " values, got shape ",
        bias.defined() ? to_string(bias.shape()) : std::string());
  const Device device = common_device("linear", {&x, &weight, &bias});
  const DType dtype = x.dtype();
  check<TypeError>(weight.dtype() == dtype && (!bias.defined() || bias.dtype() == dtype),
                   "linear: input is ", dtype_name(dtype), ", weight ",
                   dtype_name(weight.dtype()), "; they must agree");
  if (dtype != compute_dtype(dtype, device) || is_complex(dtype)) {
    const Tensor y = matmul(x, transposed(weight));
    return bias.defined() ? y + bias : y;
  }
  Dims shape = x.shape();
  shape.back() = weight.shape()[0];
  Tensor out = empty(shape, dtype, x.device());
  {
    GradMode off(false);
    const Tensor packed_bias = bias.defined() ? contiguous(bias) : bias;
    gemm(as_rows(x), transposed(weight), as_rows(out), packed_bias);
  }
  if (needs_grad(x, weight, bias)) {
    const Saved sx = weight.requires_grad() ? Saved(x) : Saved();
    const Saved sw = x.requires_grad() ? Saved(weight) : Saved();
    record("linear", {x, weight, bias}, {out}, [sx, sw, turned = is_turned(weight)](Backward& bw) {
      const Tensor g = bw.grad(), x = sx.get(), w = sw.get();
      if (bw.wants(0)) bw.set(0, matmul(g, w));
      const Tensor rows = as_rows(g);
      if (bw.wants(1)) bw.set(1, matmul_turned(transposed(rows), as_rows(x), turned));
      if (bw.wants(2)) bw.set(2, sum(rows, Dims{0}, false));
    });
  }
  return out;
}

}  // namespace zoo
