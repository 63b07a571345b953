// Cross-entropy of logits that lie with one class a row and one token a column, as W x^T gives
// them: tokens fill the lanes of vectors. float32 and float64.
#pragma once

#include <cstdint>

#include "core/dispatch.h"
#include "core/dtype.h"

namespace zoo {

// Of each column: the largest number, the sum of exp(number - largest) and the sum of the numbers.
struct ColumnSums {
  double *top, *exponentials, *plain;
};
extern Kernel<void(DType, const void* logits, int64_t classes, int64_t tokens,
                   const ColumnSums& sums)>
    column_sums_kernel;

// In place: exp(logit - log_sum[token]) * factor[token] - each[token]; 0 where factor is 0.
struct ColumnScales {
  const double *log_sum, *factor, *each;
};
extern Kernel<void(DType, void* logits, int64_t classes, int64_t tokens, const ColumnScales&)>
    column_grads_kernel;

}  // namespace zoo
