#include "core/dims.h"

#include <algorithm>
#include <cstdlib>

namespace zoo {

std::string to_string(const Dims& dims) {
  std::string text = "(";
  for (int i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(dims[i]);
  }
  return text + (dims.size() == 1 ? ",)" : ")");
}

Dims contiguous_strides(const Dims& shape) {
  Dims strides(shape.size(), 1);
  for (int i = shape.size() - 2; i >= 0; --i) {
    strides[i] = strides[i + 1] * std::max<int64_t>(1, shape[i + 1]);
  }
  return strides;
}

Dims dense_strides_like(const Dims& shape, const Dims& strides) {
  int order[kMaxDims];
  const int n = shape.size();
  for (int i = 0; i < n; ++i) order[i] = i;
  // Outermost first. Broadcast (zero) strides and single elements say nothing about order: a
  // stable sort leaves them where a contiguous tensor has them.
  std::stable_sort(order, order + n, [&](int a, int b) {
    if (shape[a] == 1 || shape[b] == 1 || strides[a] == 0 || strides[b] == 0) return false;
    return std::abs(strides[a]) > std::abs(strides[b]);
  });
  Dims dense(n, 1);
  int64_t step = 1;
  for (int i = n - 1; i >= 0; --i) {
    dense[order[i]] = step;
    step *= std::max<int64_t>(1, shape[order[i]]);
  }
  return dense;
}

Dims broadcast_shapes(const char* op, const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  const int shift = longer.size() - shorter.size();
  for (int i = 0; i < shorter.size(); ++i) {
    const int64_t s = shorter[i];
    int64_t& o = out[i + shift];
    if (o == s || s == 1) continue;
    check(o == 1, op, ": shapes ", to_string(a), " and ", to_string(b),
          " do not broadcast: axis ", i + shift, " has sizes ", o, " and ", s,
          "; they must be equal, or one of them 1");
    o = s;
  }
  return out;
}

int normalize_axis(const char* op, int64_t axis, int ndim) {
  check<IndexError>(axis >= -ndim && axis < ndim, op, ": axis ", axis,
                    " is out of range for a tensor of ", ndim, " dimensions");
  return static_cast<int>(axis < 0 ? axis + ndim : axis);
}

}  // namespace zoo
