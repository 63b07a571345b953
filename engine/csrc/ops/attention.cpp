// Scaled dot-product attention without the matrix of scores.
#include "kernels/attention.h"

#include <limits>

#include "ops/fused.h"
#include "ops/ops.h"
#include "ops/transformer_ops.h"

namespace zoo {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

// Kernels read and write rows without gaps.
Tensor with_whole_rows(const Tensor& t) { return t.strides()[3] == 1 ? t : contiguous(t); }

template <class T>
HeadRows<T> head_rows(const Tensor& t) {
  return {t.data<T>(), t.strides()[0], t.strides()[1], t.strides()[2]};
}

// (batch, heads, rows, width), in memory with heads inside rows where `like` has them so: the
// heads of a row are then one row of a matrix, and joining them costs nothing.
Tensor empty_heads(const Tensor& like, int64_t width) {
  const Dims& s = like.shape();
  const Dims shape{s[0], s[1], s[2], width};
  if (like.strides()[1] >= like.strides()[2]) return empty(shape, like.dtype(), like.device());
  return empty_strided(shape, {s[1] * s[2] * width, width, s[1] * width, 1}, like.dtype(),
                       like.device());
}

// What to compute, besides tensors.
struct Formula {
  double scale;
  bool causal;
};

Attention arguments(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                    const Formula& formula) {
  Attention a;
  a.batch = q.size(0);
  a.kv_heads = k.size(1);
  a.group = q.size(1) / k.size(1);
  a.queries = q.size(2);
  a.keys = k.size(2);
  a.width = q.size(3);
  a.value_width = v.size(3);
  a.scale = static_cast<float>(formula.scale);
  a.causal = formula.causal;
  a.q = head_rows<const float>(q);
  a.k = head_rows<const float>(k);
  a.v = head_rows<const float>(v);
  if (!mask.defined()) return a;
  a.mask = mask.data();
  a.mask_is_bool = is_bool(mask.dtype());
  for (int i = 0; i < 4; ++i) a.mask_stride[i] = mask.strides()[i];
  return a;
}

// Logarithms of the sums for the backward pass, or an undefined tensor if nothing is recorded.
Tensor compute(const Attention& a, const Tensor& out, bool records) {
  Tensor log_sums;
  if (records) log_sums = empty({a.batch, a.heads(), a.queries}, DType::kF32, out.device());
  (a.group * a.queries <= kFewQueries ? attention_few_kernel : attention_kernel)
      .on(out.device().type)(a, head_rows<float>(out),
                             records ? log_sums.data<float>() : nullptr);
  return log_sums;
}

struct HeadGrads {
  Tensor q, k, v;
};

void compute_grads(const Attention& a, const Tensor& grad, const Tensor& out,
                   const Tensor& log_sums, const HeadGrads& grads) {
  AttentionGrad g;
  g.grad = head_rows<const float>(grad);
  g.out = head_rows<const float>(out);
  g.log_sums = log_sums.data<float>();
  g.grad_q = head_rows<float>(grads.q);
  g.grad_k = head_rows<float>(grads.k);
  g.grad_v = head_rows<float>(grads.v);
  attention_grad_kernel.on(grad.device().type)(a, g);
}

// The gradients in operations that are recorded; heads that share keys are axis 2 of 5.
HeadGrads grads_in_operations(const Tensor& queries, const Tensor& keys, const Tensor& values,
                              const Tensor& mask, const Tensor& grad, const Formula& formula) {
  const Tensor k = expand_dims(keys, 2), v = expand_dims(values, 2);
  const int64_t group = queries.size(1) / keys.size(1);
  const auto split = [&](const Tensor& t) {
    return reshape(t, {t.size(0), keys.size(1), group, t.size(2), t.size(3)});
  };
  const Tensor q = split(queries), g = split(grad);
  Tensor scores = matmul(q * formula.scale, swapaxes(k, -1, -2)), sees;
  const auto limit = [&](const Tensor& seen) {
    scores = where(seen, scores, scalar(kNothing, scores.dtype()));
  };
  if (formula.causal) {
    const auto count = [&](int64_t n) {
      return to_device(arange_whole(0, n, 1, DType::kI64), q.device());
    };
    limit(greater_equal(expand_dims(count(q.size(3)), 1), count(k.size(3))));
  } else if (mask.defined()) {
    // A softmax of nothing is NaN: the blind see everything, and their weights become 0.
    const Tensor spread = split(mask);
    const bool is_seen = is_bool(mask.dtype());
    const Tensor seen = is_seen ? spread : greater(spread, scalar(kNothing, mask.dtype()));
    sees = any(seen, Dims{-1}, true);
    if (is_seen) {
      limit(logical_or(seen, logical_not(sees)));
    } else {
      scores = scores + where(sees, spread, scalar(0, mask.dtype()));
    }
  }
  Tensor weights = softmax(scores, -1);
  if (sees.defined()) weights = weights * astype(sees, weights.dtype());
  const Tensor by_weight = matmul(g, swapaxes(v, -1, -2));
  const Tensor by_score =
      weights * (by_weight - sum(weights * by_weight, Dims{-1}, true)) * formula.scale;
  return {reshape(matmul(by_score, k), queries.shape()),
          sum(matmul(swapaxes(by_score, -1, -2), q), Dims{2}, false),
          sum(matmul(swapaxes(weights, -1, -2), g), Dims{2}, false)};
}

struct AttentionRule {
  Saved q, k, v, mask, out;
  Tensor log_sums;
  Formula formula;

  void operator()(Backward& bw) const {
    const Tensor queries = q.get(), keys = k.get(), values = v.get(), m = mask.get();
    HeadGrads grads;
    if (grad_enabled()) {
      grads = grads_in_operations(queries, keys, values, m, bw.grad(), formula);
    } else {
      grads = {empty_heads(queries, queries.size(3)), empty_heads(keys, keys.size(3)),
               empty_heads(values, values.size(3))};
      compute_grads(arguments(queries, keys, values, m, formula), with_whole_rows(bw.grad()),
                    out.get(), log_sums, grads);
    }
    bw.set(0, grads.q);
    bw.set(1, grads.k);
    bw.set(2, grads.v);
  }
};

// Part `i` of three of a matrix (batch, rows, 3 * heads * width) as (batch, heads, rows, width).
Tensor heads_of(const Tensor& qkv, int64_t heads, int i) {
  const int64_t width = qkv.size(2) / 3 / heads;
  const Dims& s = qkv.strides();
  return alias(qkv, {qkv.size(0), heads, qkv.size(1), width}, {s[0], width, s[1], 1},
               qkv.offset() + i * heads * width);
}

struct SelfAttentionRule {
  Saved qkv, out;
  Tensor log_sums;
  Formula formula;
  int64_t heads;

  // Rows (batch, rows, heads * width) as (batch, heads, rows, width).
  Tensor split(const Tensor& rows) const {
    return swapaxes(reshape(rows, {rows.size(0), rows.size(1), heads, rows.size(2) / heads}), 1, 2);
  }

  Tensor in_operations(const Tensor& x, const Tensor& grad) const {
    const int64_t each = x.size(2) / 3;
    const auto part = [&](int64_t i) { return split(slice(x, 2, i * each, each, 1)); };
    const HeadGrads grads =
        grads_in_operations(part(0), part(1), part(2), {}, split(grad), formula);
    const auto joined = [&](const Tensor& t) {
      return reshape(swapaxes(t, 1, 2), {x.size(0), x.size(1), each});
    };
    return concat({joined(grads.q), joined(grads.k), joined(grads.v)}, 2);
  }

  void operator()(Backward& bw) const {
    const Tensor x = qkv.get();
    if (grad_enabled()) {
      bw.set(0, in_operations(x, bw.grad()));
      return;
    }
    const Tensor grad = empty(x.shape(), x.dtype(), x.device());
    compute_grads(arguments(heads_of(x, heads, 0), heads_of(x, heads, 1), heads_of(x, heads, 2), {},
                            formula),
                  split(contiguous(bw.grad())), split(out.get()), log_sums,
                  {heads_of(grad, heads, 0), heads_of(grad, heads, 1), heads_of(grad, heads, 2)});
    bw.set(0, grad);
  }
};

}  // namespace

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                 double scale, bool causal) {
  const DType dtype = query.dtype();
  common_device("scaled_dot_product_attention", {&query, &key, &value, &mask});
  if (is_narrow(dtype)) {
    const auto wide = [](const Tensor& t) { return astype(t, DType::kF32); };
    return astype(attention(wide(query), wide(key), wide(value), mask, scale, causal), dtype);
  }
  const Tensor q = with_whole_rows(query), k = with_whole_rows(key), v = with_whole_rows(value);
  Tensor m = mask;
  if (mask.defined()) {
    const Tensor typed = is_bool(mask.dtype()) ? detach(mask) : astype(detach(mask), dtype);
    m = broadcast_to(typed, {q.size(0), q.size(1), q.size(2), k.size(2)});
  }
  const bool records = needs_grad(q, k, v);
  const Tensor out = empty_heads(q, v.size(3));
  AttentionRule rule;
  rule.formula = {scale, causal};
  rule.log_sums = compute(arguments(q, k, v, m, rule.formula), out, records);
  if (records) {
    rule.q = Saved(q);
    rule.k = Saved(k);
    rule.v = Saved(v);
    rule.mask = Saved(m);
    rule.out = Saved::output(out);
    record("scaled_dot_product_attention", {q, k, v}, {out}, std::move(rule));
  }
  return out;
}

Tensor self_attention(const Tensor& x, int64_t heads, double scale, bool causal) {
  if (is_narrow(x.dtype())) {
    return astype(self_attention(astype(x, DType::kF32), heads, scale, causal), x.dtype());
  }
  const Tensor qkv = contiguous(x);
  const Tensor out = empty({qkv.size(0), qkv.size(1), qkv.size(2) / 3}, qkv.dtype(), qkv.device());
  const bool records = needs_grad(qkv);
  SelfAttentionRule rule;
  rule.formula = {scale, causal};
  rule.heads = heads;
  {
    GradMode off(false);
    rule.log_sums = compute(arguments(heads_of(qkv, heads, 0), heads_of(qkv, heads, 1),
                                      heads_of(qkv, heads, 2), {}, rule.formula),
                            rule.split(out), records);
  }
  if (records) {
    rule.qkv = Saved(qkv);
    rule.out = Saved::output(out);
    record("self_attention", {qkv}, {out}, std::move(rule));
  }
  return out;
}

}  // namespace zoo
