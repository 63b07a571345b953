// Operations along one axis: sorting, scans, and picking or placing single elements. Included by
// ops.h.
#pragma once

#include <utility>
#include <vector>

#include "core/tensor.h"

namespace zoo {

// ---- sort.cpp ----------------------------------------------------------------------------------
struct Sorted {
  Tensor values;
  Tensor indices;  // int64; undefined if nobody asked and no gradient needs them
};
// Stable. NaN counts as the largest.
Sorted sort_along(const Tensor& t, int64_t axis, bool descending, bool with_indices);
// The k largest (or smallest) along an axis, best first; of equal ones the first.
Sorted topk(const Tensor& t, int64_t k, int64_t axis, bool largest);
Tensor argsort(const Tensor& t, int64_t axis, bool descending);
// Where values would be inserted into the sorted 1-d tensor.
Tensor searchsorted(const Tensor& sorted, const Tensor& values, bool right);
// How often each of 0 ... n - 1 occurs; n is at least `minlength`.
Tensor bincount(const Tensor& t, int64_t minlength);

// ---- scan.cpp ----------------------------------------------------------------------------------
Tensor cumsum(const Tensor& t, int64_t axis, std::optional<DType> dtype);
Tensor cumprod(const Tensor& t, int64_t axis, std::optional<DType> dtype);
Sorted cummax(const Tensor& t, int64_t axis);
Sorted cummin(const Tensor& t, int64_t axis);
Tensor logcumsumexp(const Tensor& t, int64_t axis);
// y[i] = a[i] * y[i - 1] + b[i] along an axis; y[0] = b[0].
Tensor linear_scan(const Tensor& a, const Tensor& b, int64_t axis);

// ---- along.cpp ---------------------------------------------------------------------------------
// `index` has t's number of axes; off `axis` it may be smaller than t, and picks from its start.
Tensor gather(const Tensor& t, int64_t axis, const Tensor& index);
// A copy of t with source[i] put at index[i] along the axis (the last of equal indices stays), or
// added there. source is at least of index's shape.
Tensor scatter(const Tensor& t, int64_t axis, const Tensor& index, const Tensor& source);
Tensor scatter_add(const Tensor& t, int64_t axis, const Tensor& index, const Tensor& source);

}  // namespace zoo
