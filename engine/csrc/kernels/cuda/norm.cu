// Batch normalisation over rows x channels (NHWC), in T: float for 16-bit dtypes. Sums are partial in
// T, over few rows of one thread, and then in double.
#include "kernels/channel_math.h"
#include "kernels/cuda/columns.h"
#include "kernels/cuda/elements.h"
#include "kernels/cuda/team.h"

namespace zoo {
namespace {

// Distances are taken from the first row: the squares then lose nothing to a large mean.
template <class T>
struct StatsTerms {
  cuda::Elements<T> x;
  int64_t width;

  __device__ void operator()(int64_t row, int64_t column, T& sum, T& squares) const {
    const T d = x[row * width + column] - x[column];
    sum += d;
    squares += d * d;
  }
};

template <class T>
__global__ void finish_stats(RowShape s, cuda::Elements<T> x, double* sum, double* squares) {
  const int64_t c = cuda::thread_index();
  if (c >= s.width) return;
  const double n = static_cast<double>(s.rows);
  const double mean = sum[c] / n;
  const double variance = squares[c] / n - mean * mean;
  sum[c] = mean + static_cast<double>(x[c]);
  squares[c] = variance < 0 ? 0 : variance;  // NaN stays
}

void column_stats(DType dtype, RowShape s, const void* x, double* mean, double* variance) {
  if (s.rows == 0 || s.width == 0) return;
  cuda::with_real(dtype, [&](auto t) {
    using T = decltype(t);
    const cuda::Elements<T> from(x, dtype);
    cuda::sum_columns<T>(s, StatsTerms<T>{from, s.width}, mean, variance);
    ZOO_LAUNCH((finish_stats<T>), dim3(cuda::parts_of(s.width, 128)), dim3(128), 0, s, from, mean,
               variance);
  });
}

template <class T, bool kResidual, bool kRelu>
struct Affine {
  cuda::Elements<T> x, residual, y;
  const T *scale, *shift;
  int64_t width;

  __device__ void operator()(int64_t row, int64_t column) const {
    const int64_t at = row * width + column;
    T v = x[at] * scale[column] + shift[column];
    if constexpr (kResidual) v += residual[at];
    if constexpr (kRelu) v = v < T(0) ? T(0) : v;
    y.set(at, v);
  }
};

template <class T, bool kResidual, bool kRelu>
void affine(DType dtype, RowShape s, const ColumnAffine& a) {
  cuda::for_each_element(
      s, Affine<T, kResidual, kRelu>{{a.x, dtype},
                                     {a.residual, dtype},
                                     {a.y, dtype},
                                     static_cast<const T*>(a.scale),
                                     static_cast<const T*>(a.shift),
                                     s.width});
}

void column_affine(DType dtype, RowShape s, const ColumnAffine& a) {
  cuda::with_real(dtype, [&](auto t) {
    using T = decltype(t);
    if (a.residual != nullptr) {
      a.relu ? affine<T, true, true>(dtype, s, a) : affine<T, true, false>(dtype, s, a);
    } else {
      a.relu ? affine<T, false, true>(dtype, s, a) : affine<T, false, false>(dtype, s, a);
    }
  });
}

// The gradient behind the ReLU.
template <class T, ReluMask kMask>
struct Masked {
  cuda::Elements<T> grad, x, y;
  const T *mean, *scale, *shift;
  int64_t width;

  Masked(DType dtype, const ColumnGrad& a, int64_t columns)
      : grad(a.grad, dtype),
        x(a.x, dtype),
        y(a.y, dtype),
        mean(static_cast<const T*>(a.mean)),
        scale(static_cast<const T*>(a.scale)),
        shift(static_cast<const T*>(a.shift)),
        width(columns) {}

  __device__ T at(int64_t row, int64_t column) const {
    const int64_t i = row * width + column;
    if constexpr (kMask == ReluMask::kOutput) {
      return y[i] > T(0) ? grad[i] : T(0);
    } else if constexpr (kMask == ReluMask::kRecomputed) {
      return x[i] * scale[column] + shift[column] > T(0) ? grad[i] : T(0);
    } else {
      return grad[i];
    }
  }
};

template <class T, ReluMask kMask>
struct GradTerms {
  Masked<T, kMask> masked;
  cuda::Elements<T> kept;  // or none

  __device__ void operator()(int64_t row, int64_t column, T& sum, T& sum_x) const {
    const int64_t i = row * masked.width + column;
    const T g = masked.at(row, column);
    if (kept.defined()) kept.set(i, g);
    sum += g;
    sum_x += g * (masked.x[i] - masked.mean[column]);
  }
};

template <class T, ReluMask kMask>
struct GradInput {
  Masked<T, kMask> masked;
  const T *a, *b, *c;  // b and c may be null
  cuda::Elements<T> grad_x;

  __device__ void operator()(int64_t row, int64_t column) const {
    const int64_t i = row * masked.width + column;
    T v = masked.at(row, column) * a[column];
    if (b != nullptr) v += b[column] * (masked.x[i] - masked.mean[column]) + c[column];
    grad_x.set(i, v);
  }
};

template <class F>
void with_mask(ReluMask mask, F&& body) {
  switch (mask) {
    case ReluMask::kNone: return body(std::integral_constant<ReluMask, ReluMask::kNone>{});
    case ReluMask::kOutput: return body(std::integral_constant<ReluMask, ReluMask::kOutput>{});
    case ReluMask::kRecomputed:
      return body(std::integral_constant<ReluMask, ReluMask::kRecomputed>{});
  }
}

void column_grad_sums(DType dtype, RowShape s, const ColumnGrad& a, double* sum, double* sum_x,
                      void* masked) {
  if (s.width == 0) return;
  cuda::with_real(dtype, [&](auto t) {
    using T = decltype(t);
    with_mask(a.mask, [&](auto mask) {
      constexpr ReluMask kMask = decltype(mask)::value;
      cuda::sum_columns<T>(
          s, GradTerms<T, kMask>{Masked<T, kMask>(dtype, a, s.width), {masked, dtype}},
          sum, sum_x);
    });
  });
}

void column_grad_input(DType dtype, RowShape s, const ColumnGrad& g, const void* a, const void* b,
                       const void* c, void* grad_x) {
  cuda::with_real(dtype, [&](auto t) {
    using T = decltype(t);
    with_mask(g.mask, [&](auto mask) {
      constexpr ReluMask kMask = decltype(mask)::value;
      cuda::for_each_element(
          s, GradInput<T, kMask>{Masked<T, kMask>(dtype, g, s.width), static_cast<const T*>(a),
                                 static_cast<const T*>(b), static_cast<const T*>(c),
                                 {grad_x, dtype}});
    });
  });
}

template <class T>
__global__ void channels_forward(const __grid_constant__ ChannelForward a) {
  const int64_t c = cuda::thread_index();
  if (c < a.channels) channel_forward<T>(a, c);
}
template <class T>
__global__ void channels_backward(const __grid_constant__ ChannelBackward a) {
  const int64_t c = cuda::thread_index();
  if (c < a.channels) channel_backward<T>(a, c);
}

void forward_of_channels(DType dtype, const ChannelForward& a) {
  if (a.channels == 0) return;
  cuda::with_real(dtype, [&](auto t) {
    ZOO_LAUNCH(channels_forward<decltype(t)>, cuda::parts_of(a.channels, 128), 128, 0, a);
  });
}
void backward_of_channels(DType dtype, const ChannelBackward& a) {
  if (a.channels == 0) return;
  cuda::with_real(dtype, [&](auto t) {
    ZOO_LAUNCH(channels_backward<decltype(t)>, cuda::parts_of(a.channels, 128), 128, 0, a);
  });
}

}  // namespace

ZOO_REGISTER_CUDA(channel_forward_kernel, &forward_of_channels);
ZOO_REGISTER_CUDA(channel_backward_kernel, &backward_of_channels);
ZOO_REGISTER_CUDA(column_stats_kernel, &column_stats);
ZOO_REGISTER_CUDA(column_affine_kernel, &column_affine);
ZOO_REGISTER_CUDA(column_grad_sums_kernel, &column_grad_sums);
ZOO_REGISTER_CUDA(column_grad_input_kernel, &column_grad_input);

}  // namespace zoo
