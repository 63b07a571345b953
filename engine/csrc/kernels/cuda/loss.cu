// Cross-entropy, one team of threads a row; probabilities are written only as part of the gradient.
#include "kernels/loss.h"

#include "kernels/cuda/staging.h"
#include "kernels/cuda/team.h"

namespace zoo {
namespace {

using cuda::Team;

// loss = (1 - s) w[t] (L - x[t]) + s / C * sum over c of w[c] (L - x[c]), L = log sum exp x.
template <class T, int kThreads>
__global__ void loss_of_rows(CrossEntropy a, double* losses, double* log_sums) {
  using Threads = Team<kThreads>;
  const int64_t row = Threads::row(), n = a.shape.width;
  if (row >= a.shape.rows) return;
  const int64_t t = a.target[row];
  if (t == a.ignore_index) {
    if (Threads::rank() == 0) losses[row] = log_sums[row] = 0;
    return;
  }
  const T* x = static_cast<const T*>(a.logits) + row * n;
  const T* weight = static_cast<const T*>(a.weight);
  T top = -std::numeric_limits<T>::infinity();
  for (int64_t i = Threads::rank(); i < n; i += kThreads) top = x[i] > top ? x[i] : top;
  top = Threads::largest(top);
  T part = 0, rest_part = 0;
  for (int64_t i = Threads::rank(); i < n; i += kThreads) {
    const T d = x[i] - top;
    part += exp(d);
    if (a.smoothing != 0) rest_part += weight != nullptr ? d * weight[i] : d;
  }
  const double log_total = log(Threads::sum(static_cast<double>(part)));  // relative to the top
  const double rest = a.smoothing != 0 ? Threads::sum(static_cast<double>(rest_part)) : 0.0;
  if (Threads::rank() != 0) return;
  const double own = weight != nullptr ? static_cast<double>(weight[t]) : 1.0;
  double loss = own * (log_total - static_cast<double>(x[t] - top));
  if (a.smoothing != 0) {
    loss = (1.0 - a.smoothing) * loss +
           a.smoothing / static_cast<double>(n) * (a.weight_sum * log_total - rest);
  }
  losses[row] = loss;
  log_sums[row] = log_total + static_cast<double>(top);
}

// d loss / d x[c] = p[c] ((1 - s) w[t] + s / C sum w) - (1 - s) w[t] [c = t] - s / C w[c]
template <class T, int kThreads>
__global__ void loss_grad_of_rows(CrossEntropy a, const double* log_sums, const double* scale,
                                  T* grad_all) {
  using Threads = Team<kThreads>;
  const int64_t row = Threads::row(), n = a.shape.width;
  if (row >= a.shape.rows) return;
  const int64_t t = a.target[row];
  T* grad = grad_all + row * n;
  if (t == a.ignore_index) {
    for (int64_t i = Threads::rank(); i < n; i += kThreads) grad[i] = 0;
    return;
  }
  const T* x = static_cast<const T*>(a.logits) + row * n;
  const T* weight = static_cast<const T*>(a.weight);
  const double own =
      (1.0 - a.smoothing) * (weight != nullptr ? static_cast<double>(weight[t]) : 1.0);
  const double spread = a.smoothing / static_cast<double>(n);
  const T log_sum = static_cast<T>(log_sums[row]);
  const T factor = static_cast<T>(scale[row] * (own + spread * a.weight_sum));
  const T each = static_cast<T>(scale[row] * spread), target = static_cast<T>(scale[row] * own);
  for (int64_t i = Threads::rank(); i < n; i += kThreads) {
    T v = exp(x[i] - log_sum) * factor;
    if (each != T(0)) v -= weight != nullptr ? weight[i] * each : each;
    grad[i] = i == t ? v - target : v;
  }
}

void cross_entropy(DType dtype, const CrossEntropy& a, double* losses, double* log_sums) {
  const int64_t rows = a.shape.rows;
  if (rows == 0) return;
  const cuda::Output<double> each(losses, rows), sums(log_sums, rows);
  cuda::with_real(dtype, [&](auto t) {
    using T = decltype(t);
    cuda::with_teams(rows, a.shape.width, [&](auto threads, const cuda::RowLaunch& launch) {
      ZOO_LAUNCH((loss_of_rows<T, decltype(threads)::value>), launch.grid, launch.block, 0, a,
                 each.data(), sums.data());
    });
  });
  each.finish();
  sums.finish();
}

void cross_entropy_grad(DType dtype, const CrossEntropy& a, const double* log_sums,
                        const double* scale, void* grad) {
  const int64_t rows = a.shape.rows;
  if (rows == 0) return;
  const cuda::Input<double> sums(log_sums, rows), scales(scale, rows);
  cuda::with_real(dtype, [&](auto t) {
    using T = decltype(t);
    cuda::with_teams(rows, a.shape.width, [&](auto threads, const cuda::RowLaunch& launch) {
      ZOO_LAUNCH((loss_grad_of_rows<T, decltype(threads)::value>), launch.grid, launch.block, 0, a,
                 sums.data(), scales.data(), static_cast<T*>(grad));
    });
  });
}

}  // namespace

ZOO_REGISTER_CUDA(cross_entropy_kernel, &cross_entropy);
ZOO_REGISTER_CUDA(cross_entropy_grad_kernel, &cross_entropy_grad);

}  // namespace zoo
