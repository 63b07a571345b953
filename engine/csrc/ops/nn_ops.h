// Operations of neural networks. Tensors that may be left undefined are marked "or undefined".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/random.h"
#include "core/tensor.h"
#include "ops/ops.h"

namespace zoo {

// ---- norm.cpp ----------------------------------------------------------------------------------
struct BatchNormOptions {
  bool training = false;
  double momentum = 0.1;  // weight of the new batch in the running statistics
  double eps = 1e-5;
  bool relu = false;
};
struct BatchNormTensors {
  Tensor weight, bias;               // or undefined
  Tensor running_mean, running_var;  // or undefined, in training
};
// act((x - mean) / sqrt(variance + eps) * weight + bias + residual) by channel (axis 1) of x, 2-d
// to 4-d. In training from the batch's statistics, which also update the running ones in place;
// else from the running ones. residual or undefined.
Tensor batch_norm(const Tensor& x, const BatchNormTensors& norm, const Tensor& residual,
                  const BatchNormOptions& options);
// What it does to the channels of x in inference, without recording: x * scale + shift.
struct ChannelAffine {
  Tensor scale, shift;
};
ChannelAffine batch_norm_affine(const Tensor& x, const BatchNormTensors& norm, double eps);
// batch_norm(conv2d(x, weight, bias), norm, residual) in inference, with ReLU if asked. In one pass
// where nothing is recorded.
Tensor conv2d_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                   const Conv2dOptions& convolution, const BatchNormTensors& norm, double eps,
                   const Tensor& residual, bool relu);
// Over the last axes, which must have the shape `normalized`. weight, bias or undefined.
Tensor layer_norm(const Tensor& x, const Dims& normalized, const Tensor& weight, const Tensor& bias,
                  double eps);

// ---- pool.cpp: x is (N, C, H, W); results are channels-last -------------------------------------
struct Pool2dOptions {
  int64_t kernel[2], stride[2], padding[2] = {0, 0}, dilation[2] = {1, 1};
  bool ceil_mode = false;         // also windows that stick out at the end
  bool count_include_pad = true;  // averages only
  int64_t divisor = 0;            // of each sum, averages only; 0 for the window's size
};
struct Pooled {
  Tensor largest, where;  // where: int32, row * W + column of x
};
Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options);
Pooled max_pool2d_with_indices(const Tensor& x, const Pool2dOptions& options);
Pooled adaptive_max_pool2d(const Tensor& x, int64_t out_h, int64_t out_w);
Tensor avg_pool2d(const Tensor& x, const Pool2dOptions& options);
Tensor adaptive_avg_pool2d(const Tensor& x, int64_t out_h, int64_t out_w);

// ---- unfold.cpp --------------------------------------------------------------------------------
struct UnfoldOptions {
  int64_t kernel[2], stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};
};
// The windows of x (N, C, H, W) as columns: (N, C * kh * kw, windows).
Tensor unfold(const Tensor& x, const UnfoldOptions& options);
// Its transpose: adds columns up to pictures (N, C, h, w).
Tensor fold(const Tensor& columns, int64_t h, int64_t w, const UnfoldOptions& options);

// ---- softmax.cpp -------------------------------------------------------------------------------
Tensor softmax(const Tensor& x, int64_t axis);
Tensor log_softmax(const Tensor& x, int64_t axis);

// ---- loss.cpp ----------------------------------------------------------------------------------
struct CrossEntropyOptions {
  int64_t ignore_index = -100;
  std::string reduction = "mean";  // or "sum", "none"
  double label_smoothing = 0;
};
// logits (N, C, ...), target (N, ...) of class numbers, weight (C,) or undefined.
Tensor cross_entropy(const Tensor& logits, const Tensor& target, const Tensor& weight,
                     const CrossEntropyOptions& options);

// ---- dropout.cpp, embedding.cpp, image.cpp -----------------------------------------------------
// Zeroes with probability p and divides the rest by 1 - p.
Tensor dropout(const Tensor& x, double p, Generator& generator);
// weight (V, D), idx of integers -> idx.shape + (D,).
Tensor embedding(const Tensor& weight, const Tensor& idx);
// (x / 255 - mean) / std by channel; x uint8 (N, C, H, W) -> float32, channels-last.
Tensor normalize_images(const Tensor& x, const std::vector<double>& mean,
                        const std::vector<double>& std);

// ---- random.cpp --------------------------------------------------------------------------------
// In [0, 1); the numbers of a seed are the same on every device.
Tensor rand(const Dims& shape, DType dtype, Generator& generator, Device device = {});
// Mean 0, deviation 1.
Tensor randn(const Dims& shape, DType dtype, Generator& generator, Device device = {});
Tensor randint(int64_t low, int64_t high, const Dims& shape, DType dtype, Generator& generator);
Tensor randperm(int64_t n, Generator& generator);
Tensor bernoulli(const Tensor& p, Generator& generator);
// In place; they fill by logical index, so the numbers do not depend on the memory order.
Tensor uniform_(const Tensor& t, double low, double high, Generator& generator);
Tensor normal_(const Tensor& t, double mean, double std, Generator& generator);
Tensor trunc_normal_(const Tensor& t, double mean, double std, double low, double high,
                     Generator& generator);

// ---- optim_step.cpp: in place, recorded by no tape ----------------------------------------------
struct SgdOptions {
  double lr, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
  bool first = false;  // the buffers hold nothing yet
};
// One buffer a parameter, or none at all if momentum is 0.
void sgd_step(const std::vector<Tensor>& params, const std::vector<Tensor>& grads,
              const std::vector<Tensor>& momentum_buffers, const SgdOptions& options);
struct AdamOptions {
  int64_t step;  // counts from 1
  double lr, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool decoupled = true;  // AdamW; else the decay is added to the gradient
};
void adamw_step(const std::vector<Tensor>& params, const std::vector<Tensor>& grads,
                const std::vector<Tensor>& exp_avg, const std::vector<Tensor>& exp_avg_sq,
                const AdamOptions& options);
// Euclidean norm of all of them together, summed in double.
double grad_norm(const std::vector<Tensor>& grads);
void scale_grads(const std::vector<Tensor>& grads, double factor);

}  // namespace zoo
