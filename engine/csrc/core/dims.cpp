#include "core/dims.h"

#include <algorithm>
#include <cstdlib>

namespace zoo {

DimsText::operator std::string() const { return concat_text(*this); }

std::ostream& operator<<(std::ostream& out, const DimsText& text) {
  const Dims& dims = text.dims_;
  out << '(';
  for (int i = 0; i < dims.size(); ++i) out << (i > 0 ? ", " : "") << dims[i];
  return out << (dims.size() == 1 ? ",)" : ")");
}

Dims contiguous_strides(const Dims& shape) {
  Dims strides(shape.size(), 1);
  for (int i = shape.size() - 2; i >= 0; --i) {
    strides[i] = strides[i + 1] * std::max<int64_t>(1, shape[i + 1]);
  }
  return strides;
}

Dims dense_strides_like(const Dims& shape, const Dims& strides) {
  // The common case needs no sorting.
  const Dims plain = contiguous_strides(shape);
  if (strides == plain) return plain;
  // Outermost first. Broadcast (zero) strides and single elements say nothing about order: those
  // axes stay where a contiguous tensor has them, and the others are sorted around them.
  int order[kMaxDims], slots[kMaxDims], sorted[kMaxDims], count = 0;
  const int n = shape.size();
  for (int i = 0; i < n; ++i) {
    order[i] = i;
    if (shape[i] != 1 && strides[i] != 0) slots[count++] = i;
  }
  std::copy(slots, slots + count, sorted);
  std::stable_sort(sorted, sorted + count, [&](int a, int b) {
    return std::abs(strides[a]) > std::abs(strides[b]);
  });
  for (int i = 0; i < count; ++i) order[slots[i]] = sorted[i];
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
