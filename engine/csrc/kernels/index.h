// Moving rows: a row is the part of a tensor that an index selects whole.
#pragma once

#include "core/dispatch.h"
#include "core/loop.h"

namespace zoo {

// `row` walks one row; row i of the dense side starts i * dense_bytes after row.data[0], row i of
// the indexed side offsets[i] bytes after row.data[1].
struct RowsArgs {
  LoopPlan row;
  const int64_t* offsets = nullptr;
  int64_t count = 0;
  int64_t dense_bytes = 0;
};

extern Kernel<void(const RowsArgs&, DType)> gather_rows_kernel;   // dense = indexed
extern Kernel<void(const RowsArgs&, DType)> scatter_rows_kernel;  // indexed = dense, last one wins
extern Kernel<void(const RowsArgs&, DType)> add_rows_kernel;      // indexed += dense, in order

}  // namespace zoo
