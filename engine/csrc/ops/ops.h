// Every operation, by family. Each family's file holds checks, shape rule, forward and backward.
#pragma once

#include <optional>
#include <vector>

#include "core/tensor.h"

namespace zoo {

// ---- arithmetic.cpp: pointwise.def expands into these ------------------------------------------
#define ZOO_UNARY(name, ...) Tensor name(const Tensor& x);
#define ZOO_UNARY_PARAM(name, ...) Tensor name(const Tensor& x, double p, double q = 0);
#define ZOO_BINARY(name, ...) Tensor name(const Tensor& a, const Tensor& b);
#define ZOO_COMPARE(name, ...) Tensor name(const Tensor& a, const Tensor& b);
#define ZOO_BITWISE(name, ...) Tensor name(const Tensor& a, const Tensor& b);
#define ZOO_PREDICATE(name, ...) Tensor name(const Tensor& x);
#include "ops/pointwise.def"

// A 0-d tensor for a number in C++ code; it takes the dtype of what it meets.
Tensor scalar(double value, DType dtype);
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return subtract(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return multiply(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return divide(a, b); }
inline Tensor operator-(const Tensor& a) { return negative(a); }
inline Tensor operator+(const Tensor& a, double b) { return add(a, scalar(b, a.dtype())); }
inline Tensor operator-(const Tensor& a, double b) { return subtract(a, scalar(b, a.dtype())); }
inline Tensor operator*(const Tensor& a, double b) { return multiply(a, scalar(b, a.dtype())); }
inline Tensor operator/(const Tensor& a, double b) { return divide(a, scalar(b, a.dtype())); }
inline Tensor operator+(double a, const Tensor& b) { return add(scalar(a, b.dtype()), b); }
inline Tensor operator-(double a, const Tensor& b) { return subtract(scalar(a, b.dtype()), b); }
inline Tensor operator*(double a, const Tensor& b) { return multiply(scalar(a, b.dtype()), b); }
inline Tensor operator/(double a, const Tensor& b) { return divide(scalar(a, b.dtype()), b); }

Tensor relu_gradient(const Tensor& y, const Tensor& g);  // y = relu(x)
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor clip(const Tensor& x, const std::optional<Tensor>& low, const std::optional<Tensor>& high);
// Sums `g` over the axes along which an operand of `shape` was broadcast.
Tensor unbroadcast(const Tensor& g, const Dims& shape);
// a op= b. `name` is a row of pointwise.def: "add", "subtract", "multiply", "divide", ...
Tensor binary_inplace(const char* name, const Tensor& a, const Tensor& b);

// ---- creation.cpp ------------------------------------------------------------------------------
Tensor full(const Dims& shape, double value, DType dtype, Device device = {});
Tensor zeros(const Dims& shape, DType dtype, Device device = {});
Tensor ones(const Dims& shape, DType dtype, Device device = {});
Tensor zeros_like(const Tensor& t);
Tensor ones_like(const Tensor& t);
Tensor arange(double start, double stop, double step, DType dtype);
// Exact where a double is not; a range beyond the dtype wraps.
Tensor arange_whole(int64_t start, int64_t stop, int64_t step, DType dtype);
Tensor linspace(double start, double stop, int64_t num, DType dtype, bool endpoint);
Tensor eye(int64_t rows, int64_t columns, int64_t k, DType dtype);

// ---- copy.cpp ----------------------------------------------------------------------------------
// From complex to real numbers: the real part, which is what gradients want.
Tensor astype(const Tensor& t, DType dtype);
Tensor clone(const Tensor& t);
// t itself if it is there, else a copy in the same memory order (differentiable).
Tensor to_device(const Tensor& t, Device device);
// For host code that reads elements: t itself if they are in the host's memory.
inline Tensor to_host(const Tensor& t) { return to_device(t, Device{}); }
// t itself if it already has that layout, else a copy (differentiable).
Tensor contiguous(const Tensor& t, MemoryFormat format = MemoryFormat::kContiguous);
Tensor detach(const Tensor& t);
// In place; differentiable in `source`; converts and broadcasts.
Tensor copy_(const Tensor& t, const Tensor& source);
Tensor fill_(const Tensor& t, double value);
// Call after every element of `t` was overwritten by something without a gradient (tape.cpp).
void forget_history(const char* op, const Tensor& t);

// ---- complex.cpp -------------------------------------------------------------------------------
Tensor real(const Tensor& t);  // views of a complex tensor; a real one is its own real part
Tensor imag(const Tensor& t);
Tensor conj(const Tensor& t);

// ---- shape.cpp (views) -------------------------------------------------------------------------
Tensor reshape(const Tensor& t, const Dims& shape);  // one size may be -1; copies only if it must
Tensor permute_dims(const Tensor& t, const Dims& axes);
Tensor swapaxes(const Tensor& t, int64_t a, int64_t b);
Tensor squeeze(const Tensor& t, const Dims& axes);
Tensor expand_dims(const Tensor& t, int64_t axis);
Tensor broadcast_to(const Tensor& t, const Dims& shape);
Tensor slice(const Tensor& t, int64_t axis, int64_t start, int64_t length, int64_t step);
Tensor flip(const Tensor& t, const Dims& axes);
Tensor diagonal(const Tensor& t, int64_t offset, int64_t axis1, int64_t axis2);

// ---- join.cpp ----------------------------------------------------------------------------------
Tensor concat(const std::vector<Tensor>& tensors, int64_t axis);
Tensor stack(const std::vector<Tensor>& tensors, int64_t axis);
// Copies of `n` equal parts. One node gathers the gradients of all: a recurrent network that took
// slices instead would make a gradient of the whole for every step.
std::vector<Tensor> chunks(const Tensor& t, int64_t n, int64_t axis);

// ---- index.cpp ---------------------------------------------------------------------------------
// One entry of t[...]; integers and slices make views, tensors select.
struct Index {
  enum class Kind { kInteger, kSlice, kNewAxis, kEllipsis, kTensor } kind;
  int64_t start = 0, length = 0, step = 1;  // kInteger uses start
  Tensor tensor;                            // integers, or booleans
};
Tensor index(const Tensor& t, const std::vector<Index>& indices);
void set_index(const Tensor& t, const std::vector<Index>& indices, const Tensor& value);
Tensor take(const Tensor& t, const Tensor& indices, int64_t axis);
std::vector<Tensor> nonzero(const Tensor& t);

// ---- reduce.cpp --------------------------------------------------------------------------------
// An empty optional reduces over all axes.
using Axes = std::optional<Dims>;
Tensor sum(const Tensor& t, const Axes& axes, bool keepdims, std::optional<DType> dtype = {});
Tensor mean(const Tensor& t, const Axes& axes, bool keepdims);
Tensor prod(const Tensor& t, const Axes& axes, bool keepdims, std::optional<DType> dtype = {});
Tensor max(const Tensor& t, const Axes& axes, bool keepdims);
Tensor min(const Tensor& t, const Axes& axes, bool keepdims);
Tensor any(const Tensor& t, const Axes& axes, bool keepdims);
Tensor all(const Tensor& t, const Axes& axes, bool keepdims);
Tensor var(const Tensor& t, const Axes& axes, double correction, bool keepdims);
Tensor std(const Tensor& t, const Axes& axes, double correction, bool keepdims);
Tensor argmax(const Tensor& t, std::optional<int64_t> axis, bool keepdims);
Tensor argmin(const Tensor& t, std::optional<int64_t> axis, bool keepdims);

// ---- matmul.cpp --------------------------------------------------------------------------------
Tensor matmul(const Tensor& a, const Tensor& b);
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);  // x W^T + b

// ---- conv.cpp ----------------------------------------------------------------------------------
struct Conv2dOptions {
  int64_t stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};
  int64_t groups = 1;
};
// act(convolution + residual), where act is ReLU or nothing; bias, residual or undefined.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions&,
              const Tensor& residual = Tensor(), bool relu = false);
struct ConvTranspose2dOptions : Conv2dOptions {
  int64_t output_padding[2] = {0, 0};
};
// weight (in, out / groups, kh, kw).
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTranspose2dOptions&);

}  // namespace zoo

#include "ops/nn_ops.h"
#include "ops/order_ops.h"
