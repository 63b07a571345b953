// Joining tensors.
#include "autograd/node.h"
#include "ops/ops.h"

namespace zoo {

Tensor concat(const std::vector<Tensor>& tensors, int64_t axis) {
  check(!tensors.empty(), "concat: expected at least one tensor, got none");
  const int a = normalize_axis("concat", axis, tensors[0].ndim());
  DType dtype = tensors[0].dtype();
  Dims shape = tensors[0].shape();
  for (size_t i = 1; i < tensors.size(); ++i) {
    const Dims& s = tensors[i].shape();
    bool fits = s.size() == shape.size();
    for (int d = 0; fits && d < s.size(); ++d) fits = d == a || s[d] == shape[d];
    check(fits, "concat: tensor ", i, " has shape ", to_string(s), ", which differs from ",
          to_string(tensors[0].shape()), " outside axis ", a);
    common_device("concat", {&tensors[0], &tensors[i]});
    shape[a] += s[a];
    dtype = promote(dtype, tensors[i].dtype());
  }
  Dims strides = dense_strides_like(shape, tensors[0].strides());
  Tensor out = empty_strided(shape, strides, dtype, tensors[0].device());
  {
    GradMode off(false);
    int64_t start = 0;
    for (const Tensor& t : tensors) {
      copy_(slice(out, a, start, t.shape()[a], 1), t);
      start += t.shape()[a];
    }
  }
  if (is_differentiable(dtype) && any_needs_grad(tensors)) {
    std::vector<std::pair<int64_t, DType>> parts;
    for (const Tensor& t : tensors) parts.push_back({t.shape()[a], t.dtype()});
    record("concat", tensors, {out}, [a, parts](Backward& bw) {
      const Tensor g = bw.grad();
      int64_t start = 0;
      for (size_t i = 0; i < parts.size(); ++i) {
        const auto [length, dtype] = parts[i];
        if (bw.wants(static_cast<int>(i))) {
          bw.set(static_cast<int>(i), astype(slice(g, a, start, length, 1), dtype));
        }
        start += length;
      }
    });
  }
  return out;
}

Tensor stack(const std::vector<Tensor>& tensors, int64_t axis) {
  check(!tensors.empty(), "stack: expected at least one tensor, got none");
  std::vector<Tensor> expanded;
  expanded.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    check(tensors[i].shape() == tensors[0].shape(), "stack: tensor ", i, " has shape ",
          to_string(tensors[i].shape()), ", the first ", to_string(tensors[0].shape()));
    expanded.push_back(expand_dims(tensors[i], axis));
  }
  return concat(expanded, normalize_axis("stack", axis, tensors[0].ndim() + 1));
}

std::vector<Tensor> chunks(const Tensor& t, int64_t n, int64_t axis) {
  const int a = normalize_axis("chunks", axis, t.ndim());
  check(n > 0 && t.shape()[a] % n == 0, "chunks: ", n, " parts do not divide axis ", a,
        " of shape ", to_string(t.shape()));
  const int64_t length = t.shape()[a] / n;
  std::vector<Tensor> out;
  {
    GradMode off(false);
    for (int64_t i = 0; i < n; ++i) {
      Dims shape = t.shape();
      shape[a] = length;
      out.push_back(empty(shape, t.dtype(), t.device()));
      copy_(out.back(), slice(t, a, i * length, length, 1));
    }
  }
  if (is_floating(t.dtype()) && needs_grad(t)) {
    record("chunks", {t}, out, [n, a](Backward& bw) {
      std::vector<Tensor> grads;
      for (int64_t i = 0; i < n; ++i) grads.push_back(bw.grad(static_cast<int>(i)));
      bw.set(0, concat(grads, a));
    });
  }
  return out;
}

}  // namespace zoo
