// Picking and placing single elements along one axis.
#pragma once

#include "core/dispatch.h"
#include "core/dims.h"
#include "core/dtype.h"

namespace zoo {

// The indexed tensor, its axis moved to the end: position `i` of row `r` lies
// offset(r) + i * step bytes after `base`. `index` and `dense` are contiguous (rows, count). The
// axis is not empty.
struct AlongArgs {
  char* base = nullptr;
  int outer_ndim = 0;
  int64_t outer_shape[kMaxDims], outer_strides[kMaxDims];  // innermost first, bytes
  int64_t step = 0, size = 0;  // of the indexed axis: bytes, elements
  const int64_t* index = nullptr;
  int64_t rows = 1, count = 0;
  char* dense = nullptr;
  int64_t* outside = nullptr;  // gets a position whose index is out of range, if there is one
};
extern Kernel<void(const AlongArgs&, DType)> gather_kernel;       // dense = indexed
extern Kernel<void(const AlongArgs&, DType)> scatter_kernel;      // indexed = dense, last one wins
extern Kernel<void(const AlongArgs&, DType)> scatter_add_kernel;  // indexed += dense, in order

// Adds to out[v] how many of n values, all in [0, length), are v.
extern Kernel<void(const int64_t* values, int64_t n, int64_t* out, int64_t length)>
    bincount_kernel;

}  // namespace zoo
