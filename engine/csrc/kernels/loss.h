// Cross-entropy with class indices, fused with log-softmax. float32 and float64.
#pragma once

#include "kernels/norm.h"

namespace zoo {

struct CrossEntropy {
  RowShape shape;  // rows x classes
  const void* logits = nullptr;
  const int64_t* target = nullptr;  // one class a row
  const void* weight = nullptr;     // one a class, or null for ones
  double weight_sum = 0;            // over classes
  int64_t ignore_index = -100;      // rows with this target count for nothing
  double smoothing = 0;
};

// losses[row], and log(sum(exp(logits))) of the row for the backward pass; these and `scale` are in
// the host's memory on every device.
extern Kernel<void(DType, const CrossEntropy&, double* losses, double* log_sums)>
    cross_entropy_kernel;
// grad_logits = scale[row] * gradient of losses[row].
extern Kernel<void(DType, const CrossEntropy&, const double* log_sums, const double* scale,
                   void* grad_logits)>
    cross_entropy_grad_kernel;

}  // namespace zoo
