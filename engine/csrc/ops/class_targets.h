// What the losses of class numbers share.
#pragma once

#include <vector>

#include "core/tensor.h"
#include "kernels/loss.h"

namespace zoo {

// Pairwise, so that a mean over millions of rows loses nothing.
double sum_pairwise(const double* values, int64_t n);
double sum_pairwise(const std::vector<double>& values);

// Throws an IndexError that names the first number of `target`, int64 and contiguous, that is
// neither a class nor `ignore`; `shape` is the one the caller gave.
void check_targets(const char* op, const Tensor& target, const Dims& shape, int64_t classes,
                   int64_t ignore);

// What cross_entropy_grad_kernel computes, recorded: softmax(logits) scaled by row, less a constant.
// weight: one number a class, or undefined; scale broadcasts to (rows, 1).
Tensor cross_entropy_grad_in_operations(const Tensor& logits, const CrossEntropy& args,
                                        const Tensor& target, const Tensor& weight,
                                        const Tensor& scale);

}  // namespace zoo
