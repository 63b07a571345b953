// Sorting along the last axis, and finding positions in what is sorted. NaN counts as the largest
// value, -0 as equal to 0.
#pragma once

#include "core/dispatch.h"
#include "core/dtype.h"

namespace zoo {

// `rows` rows of `n` elements each, contiguous.
struct SortArgs {
  const void* in = nullptr;
  int64_t rows = 0, n = 0;
  bool descending = false;
  int64_t keep = 0;            // how many leading elements of the order are wanted; n for all
  void* values = nullptr;      // (rows, keep); may be null
  int64_t* indices = nullptr;  // (rows, keep); null if nobody asks where the values came from
};
// Stable: equal elements keep their order.
extern Kernel<void(const SortArgs&, DType)> sort_kernel;

// out[i] is where values[i] would be inserted into `sorted`: before equal elements, or behind
// them if `right`.
struct SearchArgs {
  const void* sorted = nullptr;
  int64_t n = 0;
  const void* values = nullptr;
  int64_t count = 0;
  bool right = false;
  int64_t* out = nullptr;
};
extern Kernel<void(const SearchArgs&, DType)> search_kernel;

}  // namespace zoo
