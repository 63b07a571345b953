// Convolution: cuDNN where it is there, otherwise products of matrices whose elements are read from
// the pictures in place (implicit GEMM), in T: float for 16-bit dtypes. Groups are a batch of products.
#include "kernels/conv.h"

#include "kernels/cuda/cudnn.h"
#include "kernels/cuda/elements.h"
#include "kernels/cuda/team.h"
#include "kernels/cuda/tiles.h"

namespace zoo {
namespace {

using cuda::Elements;

// Sizes of one group.
__device__ inline int64_t inputs_of(const Conv2dShape& s) { return s.c / s.groups; }
__device__ inline int64_t outputs_of(const Conv2dShape& s) { return s.k / s.groups; }

// A pixel of n pictures of h x w.
struct Pixel {
  int64_t n, row, column;

  __device__ Pixel(int64_t i, int64_t h, int64_t w)
      : n(i / (h * w)), row(i / w % h), column(i % w) {}
};

// Place i of a window whose taps have `channels` channels each, innermost.
struct Tap {
  int64_t row, column, channel;

  __device__ Tap(int64_t i, int64_t kw, int64_t channels)
      : row(i / channels / kw), column(i / channels % kw), channel(i % channels) {}
};

template <class T>
__device__ T pixel_under(const Conv2dShape& s, const Elements<T>& x, int64_t group, const Pixel& p,
                         const Tap& t) {
  const int64_t row = p.row * s.stride_h - s.pad_h + t.row * s.dilation_h;
  const int64_t column = p.column * s.stride_w - s.pad_w + t.column * s.dilation_w;
  if (row < 0 || row >= s.h || column < 0 || column >= s.w) return T(0);
  return x[((p.n * s.h + row) * s.w + column) * s.c + group * inputs_of(s) + t.channel];
}

template <class T>
__device__ T weight_at(const Conv2dShape& s, const Elements<T>& weight, int64_t k, int64_t c, int64_t i,
                       int64_t j) {
  return weight[k * s.weight_strides[0] + c * s.weight_strides[1] + i * s.weight_strides[2] +
                j * s.weight_strides[3]];
}

// (pixels of the result) x (places of a window).
template <class T>
struct Windows {
  Conv2dShape s;
  Elements<T> x;
  int64_t first = 0;
  bool along_depth = true;

  Windows from_row(int64_t row) const { return {s, x, first + row}; }
  __device__ T operator()(int64_t group, int64_t i, int64_t k) const {
    return pixel_under(s, x, group, Pixel(first + i, s.oh, s.ow), Tap(k, s.kw, inputs_of(s)));
  }
};

// (places of a window) x (output channels).
template <class T>
struct Weights {
  Conv2dShape s;
  Elements<T> weight;
  bool along_columns = false;

  __device__ T operator()(int64_t group, int64_t k, int64_t j) const {
    const Tap t(k, s.kw, inputs_of(s));
    return weight_at(s, weight, group * outputs_of(s) + j, t.channel, t.row, t.column);
  }
};

template <class T>
struct StorePixels {
  Conv2dShape s;
  const T *scale, *bias;
  Elements<T> residual, y;
  bool relu;
  int64_t first = 0;

  StorePixels from_row(int64_t row) const {
    return {s, scale, bias, residual, y, relu, first + row};
  }
  __device__ void operator()(int64_t group, int64_t i, int64_t j, T v) const {
    const int64_t k = group * outputs_of(s) + j, at = (first + i) * s.k + k;
    if (scale != nullptr) v *= scale[k];
    if (bias != nullptr) v += bias[k];
    if (residual.defined()) v += residual[at];
    y.set(at, relu && v < T(0) ? T(0) : v);
  }
};

// (pixels of the input) x (taps and output channels that read them): the gradient there.
template <class T>
struct GradWindows {
  Conv2dShape s;
  Elements<T> grad;
  int64_t first = 0;
  bool along_depth = true;

  GradWindows from_row(int64_t row) const { return {s, grad, first + row}; }
  __device__ T operator()(int64_t group, int64_t i, int64_t k) const {
    const Pixel p(first + i, s.h, s.w);
    const Tap t(k, s.kw, outputs_of(s));
    const int64_t row = p.row + s.pad_h - t.row * s.dilation_h;
    const int64_t column = p.column + s.pad_w - t.column * s.dilation_w;
    if (row < 0 || column < 0 || row % s.stride_h != 0 || column % s.stride_w != 0) return T(0);
    const int64_t oh = row / s.stride_h, ow = column / s.stride_w;
    if (oh >= s.oh || ow >= s.ow) return T(0);
    return grad[((p.n * s.oh + oh) * s.ow + ow) * s.k + group * outputs_of(s) + t.channel];
  }
};

// (taps and output channels) x (input channels).
template <class T>
struct TurnedWeights {
  Conv2dShape s;
  Elements<T> weight;
  bool along_columns = false;

  __device__ T operator()(int64_t group, int64_t k, int64_t j) const {
    const Tap t(k, s.kw, outputs_of(s));
    return weight_at(s, weight, group * outputs_of(s) + t.channel, j, t.row, t.column);
  }
};

template <class T>
struct StoreInputs {
  Conv2dShape s;
  Elements<T> grad_x;
  int64_t first = 0;

  StoreInputs from_row(int64_t row) const { return {s, grad_x, first + row}; }
  __device__ void operator()(int64_t group, int64_t i, int64_t j, T v) const {
    grad_x.set((first + i) * s.c + group * inputs_of(s) + j, v);
  }
};

// (output channels) x (pixels of the result).
template <class T>
struct GradPixels {
  Conv2dShape s;
  Elements<T> grad;
  int64_t first = 0;
  bool along_depth = false;

  GradPixels from_row(int64_t row) const { return {s, grad, first + row}; }
  __device__ T operator()(int64_t group, int64_t i, int64_t k) const {
    return grad[k * s.k + group * outputs_of(s) + first + i];
  }
};

// (pixels of the result) x (places of a window).
template <class T>
struct WindowsAcross {
  Conv2dShape s;
  Elements<T> x;
  bool along_columns = true;

  __device__ T operator()(int64_t group, int64_t k, int64_t j) const {
    return pixel_under(s, x, group, Pixel(k, s.oh, s.ow), Tap(j, s.kw, inputs_of(s)));
  }
};

template <class T>
struct StoreWeights {
  Conv2dShape s;
  Elements<T> grad_weight;
  int64_t first = 0;

  StoreWeights from_row(int64_t row) const { return {s, grad_weight, first + row}; }
  __device__ void operator()(int64_t group, int64_t i, int64_t j, T v) const {
    const Tap t(j, s.kw, inputs_of(s));
    const int64_t k = group * outputs_of(s) + first + i;
    grad_weight.set(k * s.weight_strides[0] + t.channel * s.weight_strides[1] +
                        t.row * s.weight_strides[2] + t.column * s.weight_strides[3],
                    v);
  }
};

void conv2d(DType dtype, const Conv2dShape& s, const void* x, const void* weight,
            const Conv2dEpilogue& e, void* y) {
  if (cuda::convolve_by_cudnn(dtype, s, x, weight, e, y)) return;
  cuda::with_real(dtype, [&](auto t) {
    using T = decltype(t);
    cuda::multiply<T>({s.n * s.oh * s.ow, s.k / s.groups, s.kh * s.kw * (s.c / s.groups), s.groups},
                      Windows<T>{s, {x, dtype}}, Weights<T>{s, {weight, dtype}},
                      StorePixels<T>{s,
                                     static_cast<const T*>(e.scale),
                                     static_cast<const T*>(e.bias),
                                     {e.residual, dtype},
                                     {y, dtype},
                                     e.relu});
  });
}

void conv2d_grad_input(DType dtype, const Conv2dShape& s, const void* grad, const void* weight,
                       void* grad_x) {
  if (cuda::input_gradient_by_cudnn(dtype, s, grad, weight, grad_x)) return;
  cuda::with_real(dtype, [&](auto t) {
    using T = decltype(t);
    cuda::multiply<T>({s.n * s.h * s.w, s.c / s.groups, s.kh * s.kw * (s.k / s.groups), s.groups},
                      GradWindows<T>{s, {grad, dtype}}, TurnedWeights<T>{s, {weight, dtype}},
                      StoreInputs<T>{s, {grad_x, dtype}});
  });
}

void conv2d_grad_weight(DType dtype, const Conv2dShape& s, const void* x, const void* grad,
                        void* grad_weight) {
  if (cuda::weight_gradient_by_cudnn(dtype, s, x, grad, grad_weight)) return;
  cuda::with_real(dtype, [&](auto t) {
    using T = decltype(t);
    cuda::multiply<T>({s.k / s.groups, s.kh * s.kw * (s.c / s.groups), s.n * s.oh * s.ow, s.groups},
                      GradPixels<T>{s, {grad, dtype}}, WindowsAcross<T>{s, {x, dtype}},
                      StoreWeights<T>{s, {grad_weight, dtype}});
  });
}

}  // namespace

ZOO_REGISTER_CUDA(conv2d_forward_kernel, &conv2d);
ZOO_REGISTER_CUDA(conv2d_grad_input_kernel, &conv2d_grad_input);
ZOO_REGISTER_CUDA(conv2d_grad_weight_kernel, &conv2d_grad_weight);

}  // namespace zoo
