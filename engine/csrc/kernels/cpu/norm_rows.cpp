// Layer normalisation: each row is read from the first-level cache after the first pass over it.
#include "core/allocator.h"
#include "core/parallel.h"
#include "kernels/cpu/row_vector.h"
#include "kernels/norm.h"

namespace zoo {
namespace {

template <class T>
void forward(RowShape s, const T* x_all, const T* weight, const T* bias, double eps, T* y_all,
             double* mean_of, double* inverse_of) {
  const int64_t n = s.width;
  parallel_for(0, s.rows, 16384 / (n + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* x = x_all + row * n;
      T* y = y_all + row * n;
      const double mean =
          sum_along<T>(
              n, [&](auto lane, int64_t i) { return load<typename decltype(lane)::type>(x + i); }) /
          static_cast<double>(n);
      const T m = static_cast<T>(mean);
      const double variance = sum_along<T>(n,
                                           [&](auto lane, int64_t i) {
                                             const auto d =
                                                 load<typename decltype(lane)::type>(x + i) - m;
                                             return d * d;
                                           }) /
                              static_cast<double>(n);
      const double inverse = 1.0 / std::sqrt(variance + eps);
      const T r = static_cast<T>(inverse);
      along<T>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::type;
        V v = (load<V>(x + i) - m) * r;
        if (weight != nullptr) v *= load<V>(weight + i);
        if (bias != nullptr) v += load<V>(bias + i);
        store(y + i, v);
      });
      mean_of[row] = mean;
      inverse_of[row] = inverse;
    }
  });
}

// grad_x = r * (h - mean(h) - xhat * mean(h * xhat)), h = g * weight.
template <class T>
ZOO_INLINE void grad_row(int64_t n, const T* g, const T* x, const T* weight, T m, T r, T* grad_x) {
  const auto h_at = [&](auto lane, int64_t i) {
    using V = typename decltype(lane)::type;
    const V h = load<V>(g + i);
    return weight != nullptr ? h * load<V>(weight + i) : h;
  };
  const auto xhat_at = [&](auto lane, int64_t i) {
    return (load<typename decltype(lane)::type>(x + i) - m) * r;
  };
  const double scale = 1.0 / static_cast<double>(n);
  const T h_mean = static_cast<T>(scale * sum_along<T>(n, h_at));
  const T hx_mean = static_cast<T>(scale * sum_along<T>(n, [&](auto lane, int64_t i) {
                                     return h_at(lane, i) * xhat_at(lane, i);
                                   }));
  along<T>(n, [&](auto lane, int64_t i) {
    store(grad_x + i, (h_at(lane, i) - h_mean - xhat_at(lane, i) * hx_mean) * r);
  });
}

// Rows whose weight gradients are summed in T before they are added to doubles.
constexpr int64_t kGroup = 8;

template <class T>
void backward(RowShape s, const T* grad, const T* x, const T* weight, const double* mean,
              const double* inverse, T* grad_x, double* grad_weight, double* grad_bias) {
  const int64_t n = s.width;
  // Blocks depend on the shape alone: the same sums for any number of threads.
  const int64_t each = (s.rows / 64 + kGroup) / kGroup * kGroup;
  const int64_t blocks = (s.rows + each - 1) / each;
  Scratch scratch(static_cast<size_t>(2 * n * blocks) * sizeof(double));
  double* partial = scratch.as<double>();
  parallel_for(0, blocks, 16384 / (each * n + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      double* w_sum = partial + b * 2 * n;
      double* b_sum = w_sum + n;
      if (grad_weight != nullptr)
        std::memset(w_sum, 0, static_cast<size_t>(2 * n) * sizeof(double));
      const int64_t last = (b + 1) * each < s.rows ? (b + 1) * each : s.rows;
      for (int64_t row = b * each; row < last; row += kGroup) {
        const int64_t count = last - row < kGroup ? last - row : kGroup;
        for (int64_t k = row; grad_x != nullptr && k < row + count; ++k) {
          grad_row(n, grad + k * n, x + k * n, weight, static_cast<T>(mean[k]),
                   static_cast<T>(inverse[k]), grad_x + k * n);
        }
        if (grad_weight == nullptr) continue;
        along<T>(n, [&](auto lane, int64_t i) {
          using V = typename decltype(lane)::type;
          V gx{}, g_sum{};
          for (int64_t k = row; k < row + count; ++k) {
            const V g = load<V>(grad + k * n + i);
            gx += g *
                  ((load<V>(x + k * n + i) - static_cast<T>(mean[k])) * static_cast<T>(inverse[k]));
            g_sum += g;
          }
          add_to(w_sum + i, gx);
          add_to(b_sum + i, g_sum);
        });
      }
    }
  });
  if (grad_weight == nullptr) return;
  for (int64_t b = 1; b < blocks; ++b) {
    for (int64_t i = 0; i < 2 * n; ++i) partial[i] += partial[b * 2 * n + i];
  }
  for (int64_t i = 0; i < n; ++i) {
    grad_weight[i] = s.rows == 0 ? 0 : partial[i];
    grad_bias[i] = s.rows == 0 ? 0 : partial[n + i];
  }
}

void layer_norm(DType dtype, RowShape s, const void* x, const void* weight, const void* bias,
                double eps, void* y, double* mean, double* inverse) {
  const auto run = [&](auto t) {
    using T = decltype(t);
    forward(s, static_cast<const T*>(x), static_cast<const T*>(weight), static_cast<const T*>(bias),
            eps, static_cast<T*>(y), mean, inverse);
  };
  dtype == DType::kF64 ? run(double{}) : run(float{});
}

void layer_norm_grad(DType dtype, RowShape s, const void* grad, const void* x, const void* weight,
                     const double* mean, const double* inverse, void* grad_x, double* grad_weight,
                     double* grad_bias) {
  const auto run = [&](auto t) {
    using T = decltype(t);
    backward(s, static_cast<const T*>(grad), static_cast<const T*>(x),
             static_cast<const T*>(weight), mean, inverse, static_cast<T*>(grad_x), grad_weight,
             grad_bias);
  };
  dtype == DType::kF64 ? run(double{}) : run(float{});
}

}  // namespace

ZOO_REGISTER_CPU(layer_norm_kernel, &layer_norm);
ZOO_REGISTER_CPU(layer_norm_grad_kernel, &layer_norm_grad);

}  // namespace zoo
