// Layer normalisation in T (float for 16-bit dtypes), one team of threads a row.
#include "kernels/cuda/columns.h"
#include "kernels/cuda/elements.h"
#include "kernels/cuda/team.h"
#include "kernels/norm.h"

namespace zoo {
namespace {

using cuda::Elements;
using cuda::Team;

template <class T, int kThreads>
__global__ void normalise_rows(RowShape s, Elements<T> x_all, const T* weight, const T* bias,
                               double eps, Elements<T> y_all, double* mean_of,
                               double* inverse_of) {
  using Threads = Team<kThreads>;
  const int64_t row = Threads::row(), n = s.width;
  if (row >= s.rows) return;
  const Elements<T> x = x_all.from(row * n), y = y_all.from(row * n);
  T part = 0;
  for (int64_t i = Threads::rank(); i < n; i += kThreads) part += x[i];
  const double mean = Threads::sum(static_cast<double>(part)) / static_cast<double>(n);
  const T m = static_cast<T>(mean);
  part = 0;
  for (int64_t i = Threads::rank(); i < n; i += kThreads) part += (x[i] - m) * (x[i] - m);
  const double variance = Threads::sum(static_cast<double>(part)) / static_cast<double>(n);
  const double inverse = 1.0 / sqrt(variance + eps);
  const T r = static_cast<T>(inverse);
  for (int64_t i = Threads::rank(); i < n; i += kThreads) {
    T v = (x[i] - m) * r;
    if (weight != nullptr) v *= weight[i];
    if (bias != nullptr) v += bias[i];
    y.set(i, v);
  }
  if (Threads::rank() == 0) {
    mean_of[row] = mean;
    inverse_of[row] = inverse;
  }
}

// grad_x = r * (h - mean(h) - xhat * mean(h * xhat)), h = g * weight.
template <class T, int kThreads>
__global__ void grad_of_rows(RowShape s, Elements<T> grad, Elements<T> x_all, const T* weight,
                             const double* mean_of, const double* inverse_of,
                             Elements<T> grad_x) {
  using Threads = Team<kThreads>;
  const int64_t row = Threads::row(), n = s.width;
  if (row >= s.rows) return;
  const Elements<T> g = grad.from(row * n), x = x_all.from(row * n);
  const T m = static_cast<T>(mean_of[row]), r = static_cast<T>(inverse_of[row]);
  T h_part = 0, hx_part = 0;
  for (int64_t i = Threads::rank(); i < n; i += kThreads) {
    const T h = weight != nullptr ? g[i] * weight[i] : g[i];
    h_part += h;
    hx_part += h * ((x[i] - m) * r);
  }
  const double scale = 1.0 / static_cast<double>(n);
  const T h_mean = static_cast<T>(scale * Threads::sum(static_cast<double>(h_part)));
  const T hx_mean = static_cast<T>(scale * Threads::sum(static_cast<double>(hx_part)));
  for (int64_t i = Threads::rank(); i < n; i += kThreads) {
    const T h = weight != nullptr ? g[i] * weight[i] : g[i];
    grad_x.set(row * n + i, (h - h_mean - (x[i] - m) * r * hx_mean) * r);
  }
}

template <class T>
struct WeightTerms {
  Elements<T> grad, x;
  const double *mean, *inverse;
  int64_t width;

  __device__ void operator()(int64_t row, int64_t column, T& by_weight, T& by_bias) const {
    const int64_t i = row * width + column;
    by_weight += grad[i] * ((x[i] - static_cast<T>(mean[row])) * static_cast<T>(inverse[row]));
    by_bias += grad[i];
  }
};

void layer_norm(DType dtype, RowShape s, const void* x, const void* weight, const void* bias,
                double eps, void* y, double* mean, double* inverse) {
  if (s.rows == 0 || s.width == 0) return;
  cuda::with_real(dtype, [&](auto t) {
    using T = decltype(t);
    cuda::with_teams(s.rows, s.width, [&](auto threads, const cuda::RowLaunch& launch) {
      ZOO_LAUNCH((normalise_rows<T, decltype(threads)::value>), launch.grid, launch.block, 0, s,
                 Elements<T>(x, dtype), static_cast<const T*>(weight),
                 static_cast<const T*>(bias), eps, Elements<T>(y, dtype), mean, inverse);
    });
  });
}

void layer_norm_grad(DType dtype, RowShape s, const void* grad, const void* x, const void* weight,
                     const double* mean, const double* inverse, void* grad_x, double* grad_weight,
                     double* grad_bias) {
  if (s.width == 0) return;
  cuda::with_real(dtype, [&](auto t) {
    using T = decltype(t);
    const Elements<T> g(grad, dtype), from(x, dtype);
    if (grad_x != nullptr && s.rows > 0) {
      cuda::with_teams(s.rows, s.width, [&](auto threads, const cuda::RowLaunch& launch) {
        ZOO_LAUNCH((grad_of_rows<T, decltype(threads)::value>), launch.grid, launch.block, 0, s, g,
                   from, static_cast<const T*>(weight), mean, inverse,
                   Elements<T>(grad_x, dtype));
      });
    }
    if (grad_weight == nullptr) return;
    cuda::sum_columns<T>(s, WeightTerms<T>{g, from, mean, inverse, s.width}, grad_weight,
                         grad_bias);
  });
}

}  // namespace

ZOO_REGISTER_CUDA(layer_norm_kernel, &layer_norm);
ZOO_REGISTER_CUDA(layer_norm_grad_kernel, &layer_norm_grad);

}  // namespace zoo
