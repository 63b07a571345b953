// Dropout (Srivastava et al., 2014), with the mask drawn again in the backward pass.
#include "autograd/node.h"
#include "kernels/random.h"
#include "ops/fused.h"
#include "ops/ops.h"

namespace zoo {
namespace {

// `strides` fixes which element takes which random number: gradients have the layout of the input.
Tensor apply_stream(const Tensor& input, double p, RandomStream stream, const Dims& strides) {
  Tensor x = input;
  if (x.strides() != strides) {
    x = empty_strided(input.shape(), strides, input.dtype(), input.device());
    copy_(x, input);
  }
  const Tensor y = empty_strided(x.shape(), strides, x.dtype(), x.device());
  dropout_kernel.on(x.device().type)(x.dtype(), stream, p, x.data(), y.data(), x.numel());
  if (needs_grad(x)) {
    record("dropout", {x}, {y}, [p, stream, strides](Backward& bw) {
      bw.set(0, apply_stream(bw.grad(), p, stream, strides));  // linear: its own gradient
    });
  }
  return y;
}

}  // namespace

Tensor dropout(const Tensor& x, double p, Generator& generator) {
  check_floating("dropout", x);
  check(p >= 0 && p <= 1, "dropout: probability ", p, " must be between 0 and 1");
  if (p == 0) return x;
  if (is_narrow(x.dtype())) {
    return astype(dropout(astype(x, DType::kF32), p, generator), x.dtype());
  }
  // Dropout takes a word an element in either dtype.
  const RandomStream stream = generator.reserve(counters_for(DType::kF32, x.numel()));
  return apply_stream(x, p, stream, dense_strides_like(x.shape(), x.strides()));
}

}  // namespace zoo
