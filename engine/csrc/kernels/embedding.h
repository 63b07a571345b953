// Rows of a table. float32 and float64.
#pragma once

#include <cstdint>

#include "core/dispatch.h"
#include "core/dtype.h"

namespace zoo {

// y[i] = table[index[i]], rows of `bytes` bytes.
extern Kernel<void(const void* table, const int64_t* index, int64_t count, int64_t bytes, void* y)>
    embedding_kernel;
// Row r of the distinct ones: grad_table[row[r]] = sum over start[r] <= k < start[r + 1] of
// grad[order[k]], in that order. Rows have `width` elements; others are left as they are. The three
// lists are in the host's memory on every device.
struct EmbeddingGrad {
  int64_t distinct = 0, width = 0;
  const int64_t *row = nullptr, *start = nullptr, *order = nullptr;
};
extern Kernel<void(DType, const EmbeddingGrad&, const void* grad, void* grad_table)>
    embedding_grad_kernel;

}  // namespace zoo
