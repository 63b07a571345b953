// Cross-entropy: probabilities are never written in the forward pass, and only as part of the
// gradient in the backward pass.
#include "kernels/loss.h"

#include "core/parallel.h"
#include "kernels/cpu/row_vector.h"

namespace zoo {
namespace {

ZOO_INLINE int64_t row_grain(int64_t width) { return 8192 / (width + 1) + 1; }

// loss = (1 - s) w[t] (L - x[t]) + s / C * sum over c of w[c] (L - x[c]), L = log sum exp x.
template <class T>
void forward(const CrossEntropy& a, double* losses, double* log_sums) {
  const int64_t n = a.shape.width;
  const T* weight = static_cast<const T*>(a.weight);
  parallel_for(0, a.shape.rows, row_grain(n), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t t = a.target[row];
      losses[row] = log_sums[row] = 0;
      if (t == a.ignore_index) continue;
      const T* x = static_cast<const T*>(a.logits) + row * n;
      const T top = max_along(x, n);
      const double total = sum_along<T>(n, [&](auto lane, int64_t i) {
        return exp_of(load<typename decltype(lane)::type>(x + i) - top);
      });
      const double log_total = std::log(total);  // relative to the top logit
      const double own = weight != nullptr ? static_cast<double>(weight[t]) : 1.0;
      double loss = own * (log_total - static_cast<double>(x[t] - top));
      if (a.smoothing != 0) {
        const double rest = sum_along<T>(n, [&](auto lane, int64_t i) {
          using V = typename decltype(lane)::type;
          const V d = load<V>(x + i) - top;
          return weight != nullptr ? d * load<V>(weight + i) : d;
        });
        loss = (1.0 - a.smoothing) * loss +
               a.smoothing / static_cast<double>(n) * (a.weight_sum * log_total - rest);
      }
      losses[row] = loss;
      log_sums[row] = log_total + static_cast<double>(top);
    }
  });
}

// d loss / d x[c] = p[c] ((1 - s) w[t] + s / C sum w) - (1 - s) w[t] [c = t] - s / C w[c]
template <class T>
void backward(const CrossEntropy& a, const double* log_sums, const double* scale, T* grad_all) {
  const int64_t n = a.shape.width;
  const T* weight = static_cast<const T*>(a.weight);
  parallel_for(0, a.shape.rows, row_grain(n), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t t = a.target[row];
      T* grad = grad_all + row * n;
      if (t == a.ignore_index) {
        std::memset(grad, 0, static_cast<size_t>(n) * sizeof(T));
        continue;
      }
      const T* x = static_cast<const T*>(a.logits) + row * n;
      const double own =
          (1.0 - a.smoothing) * (weight != nullptr ? static_cast<double>(weight[t]) : 1.0);
      const double spread = a.smoothing / static_cast<double>(n);
      const T log_sum = static_cast<T>(log_sums[row]);
      const T factor = static_cast<T>(scale[row] * (own + spread * a.weight_sum));
      const T each = static_cast<T>(scale[row] * spread);
      along<T>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::type;
        V v = exp_of(load<V>(x + i) - log_sum) * factor;
        if (each != T(0)) v -= weight != nullptr ? load<V>(weight + i) * each : V{} + each;
        store(grad + i, v);
      });
      grad[t] -= static_cast<T>(scale[row] * own);
    }
  });
}

void cross_entropy(DType dtype, const CrossEntropy& a, double* losses, double* log_sums) {
  dtype == DType::kF64 ? forward<double>(a, losses, log_sums) : forward<float>(a, losses, log_sums);
}

void cross_entropy_grad(DType dtype, const CrossEntropy& a, const double* log_sums,
                        const double* scale, void* grad) {
  if (dtype == DType::kF64) {
    backward(a, log_sums, scale, static_cast<double*>(grad));
  } else {
    backward(a, log_sums, scale, static_cast<float*>(grad));
  }
}

}  // namespace

ZOO_REGISTER_CPU(cross_entropy_kernel, &cross_entropy);
ZOO_REGISTER_CPU(cross_entropy_grad_kernel, &cross_entropy_grad);

}  // namespace zoo
