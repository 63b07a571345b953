// Softmax and log-softmax along any axis.
#include "kernels/softmax.h"

#include <cmath>

#include "ops/fused.h"
#include "ops/ops.h"

namespace zoo {
namespace {

// Gradient of the input from that of the output: fused, or as operations when those are recorded.
Tensor softmax_grad(const Tensor& grad, const Tensor& y, bool log) {
  if (grad_enabled()) {
    const Dims last{y.ndim() - 1};
    if (log) return grad - exp(y) * sum(grad, last, true);
    return y * (grad - sum(grad * y, last, true));
  }
  const Tensor g = contiguous(grad);
  const Tensor grad_x = empty(y.shape(), y.dtype(), y.device());
  const int64_t width = y.size(-1);
  softmax_grad_kernel.on(y.device().type)(y.dtype(),
                                          {y.numel() / std::max<int64_t>(1, width), width},
                                          g.data(), y.data(), grad_x.data(), log);
  return grad_x;
}

Tensor softmax_last(const char* op, const Tensor& input, bool log) {
  const Tensor x = contiguous(input);
  const Tensor y = empty(x.shape(), x.dtype(), x.device());
  const int64_t width = x.size(-1);
  softmax_kernel.on(x.device().type)(x.dtype(), {x.numel() / std::max<int64_t>(1, width), width},
                                     x.data(), y.data(), log);
  if (needs_grad(x)) {
    record(op, {x}, {y}, [saved = Saved::output(y), log](Backward& bw) {
      bw.set(0, softmax_grad(bw.grad(), saved.get(), log));
    });
  }
  return y;
}

Tensor softmax_along(const char* op, const Tensor& x, int64_t axis, bool log) {
  check_floating(op, x);
  check(x.ndim() > 0, op, ": expected at least one axis, got a 0-d tensor");
  const int a = normalize_axis(op, axis, x.ndim());
  if (is_narrow(x.dtype())) {
    return astype(softmax_along(op, astype(x, DType::kF32), axis, log), loss_dtype(x));
  }
  if (a == x.ndim() - 1) return softmax_last(op, x, log);
  // The axis goes last and comes back: views, and for a channels-last picture no copy either.
  Dims to_last, back;
  for (int d = 0; d < x.ndim(); ++d) {
    if (d != a) to_last.push_back(d);
    back.push_back(d < a ? d : d == a ? x.ndim() - 1 : d - 1);
  }
  to_last.push_back(a);
  return permute_dims(softmax_last(op, permute_dims(x, to_last), log), back);
}

}  // namespace

Tensor softmax(const Tensor& x, int64_t axis) { return softmax_along("softmax", x, axis, false); }

Tensor log_softmax(const Tensor& x, int64_t axis) {
  return softmax_along("log_softmax", x, axis, true);
}

}  // namespace zoo
