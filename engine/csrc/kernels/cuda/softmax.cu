// Softmax and log-softmax along contiguous rows, one team of threads a row.
#include "kernels/softmax.h"

#include "kernels/cuda/team.h"

namespace zoo {
namespace {

using cuda::Team;

template <class T>
inline constexpr T kLowest = -std::numeric_limits<T>::infinity();

template <class T, bool kLog, int kThreads>
__global__ void softmax_rows(RowShape s, const T* x_all, T* y_all) {
  using Threads = Team<kThreads>;
  const int64_t row = Threads::row();
  if (row >= s.rows) return;
  const T* x = x_all + row * s.width;
  T* y = y_all + row * s.width;
  T top = kLowest<T>;
  for (int64_t i = Threads::rank(); i < s.width; i += kThreads) top = x[i] > top ? x[i] : top;
  top = Threads::largest(top);
  T total = 0;
  for (int64_t i = Threads::rank(); i < s.width; i += kThreads) total += exp(x[i] - top);
  total = Threads::sum(total);
  const T log_total = log(total), factor = T(1) / total;
  for (int64_t i = Threads::rank(); i < s.width; i += kThreads) {
    const T d = x[i] - top;
    y[i] = kLog ? d - log_total : exp(d) * factor;
  }
}

template <class T, bool kLog, int kThreads>
__global__ void softmax_grad_rows(RowShape s, const T* g_all, const T* y_all, T* grad_all) {
  using Threads = Team<kThreads>;
  const int64_t row = Threads::row();
  if (row >= s.rows) return;
  const T* g = g_all + row * s.width;
  const T* y = y_all + row * s.width;
  T* grad = grad_all + row * s.width;
  T total = 0;
  for (int64_t i = Threads::rank(); i < s.width; i += kThreads) {
    total += kLog ? g[i] : g[i] * y[i];
  }
  total = Threads::sum(total);
  for (int64_t i = Threads::rank(); i < s.width; i += kThreads) {
    grad[i] = kLog ? g[i] - exp(y[i]) * total : y[i] * (g[i] - total);
  }
}

void softmax(DType dtype, RowShape s, const void* x, void* y, bool log) {
  if (s.rows == 0 || s.width == 0) return;
  cuda::with_real(dtype, [&](auto t) {
    using T = decltype(t);
    const T* from = static_cast<const T*>(x);
    T* to = static_cast<T*>(y);
    cuda::with_teams(s.rows, s.width, [&](auto threads, const cuda::RowLaunch& launch) {
      constexpr int kThreads = decltype(threads)::value;
      if (log) {
        ZOO_LAUNCH((softmax_rows<T, true, kThreads>), launch.grid, launch.block, 0, s, from, to);
      } else {
        ZOO_LAUNCH((softmax_rows<T, false, kThreads>), launch.grid, launch.block, 0, s, from, to);
      }
    });
  });
}

void softmax_grad(DType dtype, RowShape s, const void* grad, const void* y, void* grad_x,
                  bool log) {
  if (s.rows == 0 || s.width == 0) return;
  cuda::with_real(dtype, [&](auto t) {
    using T = decltype(t);
    const T* g = static_cast<const T*>(grad);
    const T* from = static_cast<const T*>(y);
    T* to = static_cast<T*>(grad_x);
    cuda::with_teams(s.rows, s.width, [&](auto threads, const cuda::RowLaunch& launch) {
      constexpr int kThreads = decltype(threads)::value;
      if (log) {
        ZOO_LAUNCH((softmax_grad_rows<T, true, kThreads>), launch.grid, launch.block, 0, s, g, from,
                   to);
      } else {
        ZOO_LAUNCH((softmax_grad_rows<T, false, kThreads>), launch.grid, launch.block, 0, s, g,
                   from, to);
      }
    });
  });
}

}  // namespace

ZOO_REGISTER_CUDA(softmax_kernel, &softmax);
ZOO_REGISTER_CUDA(softmax_grad_kernel, &softmax_grad);

}  // namespace zoo
