// Batch and layer normalisation over matrices whose rows are contiguous. float32 and float64; on GPUs
// 16-bit dtypes too, whose numbers by column (scale, mean, weight, ...) are float32.
#pragma once

#include <cstdint>

#include "core/dispatch.h"
#include "core/dtype.h"

namespace zoo {

struct RowShape {
  int64_t rows, width;
};

// Mean and variance (divided by the number of rows) of each column.
extern Kernel<void(DType, RowShape, const void* x, double* mean, double* variance)>
    column_stats_kernel;

// y = x * scale + shift by column (+ residual), then ReLU if asked.
struct ColumnAffine {
  const void* x = nullptr;
  const void* scale = nullptr;
  const void* shift = nullptr;
  const void* residual = nullptr;  // laid out as x, or null
  bool relu = false;
  void* y = nullptr;
};
extern Kernel<void(DType, RowShape, const ColumnAffine&)> column_affine_kernel;

// Where a gradient passes the ReLU: everywhere, where the saved output is positive, or where the
// output is when computed again from x (which costs no memory traffic).
enum class ReluMask { kNone, kOutput, kRecomputed };

struct ColumnGrad {
  const void* grad = nullptr;
  const void* x = nullptr;
  const void* mean = nullptr;  // by column
  ReluMask mask = ReluMask::kNone;
  const void* y = nullptr;                        // for kOutput
  const void *scale = nullptr, *shift = nullptr;  // for kRecomputed
};
// By column: the sums of g and of g * (x - mean), where g is the masked gradient; also writes g to
// `masked` unless that is null.
extern Kernel<void(DType, RowShape, const ColumnGrad&, double* sum, double* sum_x, void* masked)>
    column_grad_sums_kernel;
// grad_x = a * g + b * (x - mean) + c by column; a * g alone if b is null.
extern Kernel<void(DType, RowShape, const ColumnGrad&, const void* a, const void* b, const void* c,
                   void* grad_x)>
    column_grad_input_kernel;

// Numbers by channel, between the passes over pixels. Statistics are float64; other numbers are of the
// kernel's dtype, float32 or float64. What is not wanted or not there is null.
struct ChannelForward {
  int64_t channels = 0;
  double count = 0;  // of values in a channel
  double eps = 0, momentum = 0;
  const double *mean = nullptr, *variance = nullptr;
  const void *weight = nullptr, *bias = nullptr;
  void *running_mean = nullptr, *running_var = nullptr;  // updated
  void *scale = nullptr, *shift = nullptr, *rounded_mean = nullptr;
  double* inverse_std = nullptr;
};
extern Kernel<void(DType, const ChannelForward&)> channel_forward_kernel;

struct ChannelBackward {
  int64_t channels = 0;
  double count = 0;
  const double *sum = nullptr, *sum_x = nullptr, *inverse_std = nullptr;
  const void* weight = nullptr;
  void *by_weight = nullptr, *by_bias = nullptr, *by_mean = nullptr, *by_variance = nullptr;
  void *slope = nullptr, *offset = nullptr;  // of grad_x along x - mean, and constant
};
extern Kernel<void(DType, const ChannelBackward&)> channel_backward_kernel;

// By row: y = (x - mean) / sqrt(variance + eps) * weight + bias. Keeps the mean and the inverse
// deviation of each row. weight and bias may be null.
extern Kernel<void(DType, RowShape, const void* x, const void* weight, const void* bias, double eps,
                   void* y, double* mean, double* inverse_std)>
    layer_norm_kernel;
// grad_x may be null; grad_weight and grad_bias (together) too.
extern Kernel<void(DType, RowShape, const void* grad, const void* x, const void* weight,
                   const double* mean, const double* inverse_std, void* grad_x, double* grad_weight,
                   double* grad_bias)>
    layer_norm_grad_kernel;

}  // namespace zoo
