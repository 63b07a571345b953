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

struct AttentionRule {
  Saved q, k, v, mask, out;
  Tensor log_sums;
  double scale;
  bool causal;

  Attention arguments(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& m) const {
    Attention a;
    a.batch = q.size(0);
    a.kv_heads = k.size(1);
    a.group = q.size(1) / k.size(1);
    a.queries = q.size(2);
    a.keys = k.size(2);
    a.width = q.size(3);
    a.value_width = v.size(3);
    a.scale = static_cast<float>(scale);
    a.causal = causal;
    a.q = head_rows<const float>(q);
    a.k = head_rows<const float>(k);
    a.v = head_rows<const float>(v);
    if (!m.defined()) return a;
    a.mask = m.data();
    a.mask_is_bool = is_bool(m.dtype());
    for (int i = 0; i < 4; ++i) a.mask_stride[i] = m.strides()[i];
    return a;
  }

  // The same in operations that are recorded; heads that share keys are axis 2 of 5.
  void in_operations(Backward& bw) const {
    const Tensor k = expand_dims(this->k.get(), 2), v = expand_dims(this->v.get(), 2);
    const Tensor queries = this->q.get();
    const int64_t group = queries.size(1) / k.size(1);
    const auto split = [&](const Tensor& t) {
      return reshape(t, {t.size(0), k.size(1), group, t.size(2), t.size(3)});
    };
    const Tensor q = split(queries), g = split(bw.grad()), m = mask.get();
    Tensor scores = matmul(q * scale, swapaxes(k, -1, -2)), sees;
    const auto limit = [&](const Tensor& seen) {
      scores = where(seen, scores, scalar(kNothing, scores.dtype()));
    };
    if (causal) {
      limit(greater_equal(expand_dims(arange_whole(0, q.size(3), 1, DType::kI64), 1),
                          arange_whole(0, k.size(3), 1, DType::kI64)));
    } else if (m.defined()) {
      // A softmax of nothing is NaN: the blind see everything, and their weights become 0.
      const Tensor spread = split(m);
      const Tensor seen =
          is_bool(m.dtype()) ? spread : greater(spread, scalar(kNothing, m.dtype()));
      sees = any(seen, Dims{-1}, true);
      if (is_bool(m.dtype())) {
        limit(logical_or(seen, logical_not(sees)));
      } else {
        scores = scores + where(sees, spread, scalar(0, m.dtype()));
      }
    }
    Tensor weights = softmax(scores, -1);
    if (sees.defined()) weights = weights * astype(sees, weights.dtype());
    const Tensor by_weight = matmul(g, swapaxes(v, -1, -2));
    const Tensor by_score =
        weights * (by_weight - sum(weights * by_weight, Dims{-1}, true)) * scale;
    if (bw.wants(0)) bw.set(0, reshape(matmul(by_score, k), queries.shape()));
    if (bw.wants(1)) bw.set(1, sum(matmul(swapaxes(by_score, -1, -2), q), Dims{2}, false));
    if (bw.wants(2)) bw.set(2, sum(matmul(swapaxes(weights, -1, -2), g), Dims{2}, false));
  }

  void operator()(Backward& bw) const {
    if (grad_enabled()) {
      in_operations(bw);
      return;
    }
    const Tensor queries = q.get(), keys = k.get(), values = v.get(), y = out.get();
    const Tensor grad = with_whole_rows(bw.grad());
    const Tensor grad_q = empty_heads(queries, queries.size(3));
    const Tensor grad_k = empty_heads(keys, keys.size(3));
    const Tensor grad_v = empty_heads(values, values.size(3));
    AttentionGrad g;
    g.grad = head_rows<const float>(grad);
    g.out = head_rows<const float>(y);
    g.log_sums = log_sums.data<float>();
    g.grad_q = head_rows<float>(grad_q);
    g.grad_k = head_rows<float>(grad_k);
    g.grad_v = head_rows<float>(grad_v);
    attention_grad_kernel.on(grad.device().type)(arguments(queries, keys, values, mask.get()), g);
    bw.set(0, grad_q);
    bw.set(1, grad_k);
    bw.set(2, grad_v);
  }
};

}  // namespace

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                 double scale, bool causal) {
  const DType dtype = query.dtype();
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
  rule.scale = scale;
  rule.causal = causal;
  if (records) rule.log_sums = empty({q.size(0), q.size(1), q.size(2)}, DType::kF32);
  const bool few = q.size(1) / k.size(1) * q.size(2) <= kFewQueries;
  (few ? attention_few_kernel : attention_kernel)
      .on(q.device().type)(rule.arguments(q, k, v, m), head_rows<float>(out),
                           records ? rule.log_sums.data<float>() : nullptr);
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

}  // namespace zoo
