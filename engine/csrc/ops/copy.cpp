// Copies, conversions and layouts.
#include "autograd/node.h"
#include "core/backend.h"
#include "kernels/pointwise.h"
#include "ops/complex.h"
#include "ops/ops.h"

namespace zoo {
namespace {

bool same_layout(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && a.is_dense() && b.is_dense() &&
         dense_strides_like(a.shape(), a.strides()) == dense_strides_like(b.shape(), b.strides());
}

void copy_into(const Tensor& to, const Tensor& from) {
  const bool is_number = from.numel() == 1 && from.device().type == DeviceType::kCPU;
  if (to.device() != from.device() && !is_number) [[unlikely]] {
    if (!same_layout(to, from)) {
      GradMode off(false);
      return copy_into(to, to_device(from, to.device()));
    }
    return copy_bytes(to.data(), to.device(), from.data(), from.device(),
                      static_cast<size_t>(to.numel() * itemsize(to.dtype())));
  }
  if (to.dtype() != from.dtype() && (is_complex(to.dtype()) || is_complex(from.dtype()))) {
    copy_into(is_complex(to.dtype()) ? complex_part(to, 0) : to,
              is_complex(from.dtype()) ? complex_part(from, 0) : from);
    if (!is_complex(to.dtype())) return;
    if (is_complex(from.dtype())) {
      copy_into(complex_part(to, 1), complex_part(from, 1));
    } else {
      fill_(complex_part(to, 1), 0);
    }
    return;
  }
  copy_kernel.on(to.device().type)(make_loop(to.shape(), {&to, &from}), to.dtype(), from.dtype());
}

// `out` holds the values of `t`; the gradient goes back in t's dtype.
Tensor record_copy(const char* name, const Tensor& t, const Tensor& out) {
  if (is_differentiable(out.dtype()) && is_differentiable(t.dtype()) && needs_grad(t)) {
    record(name, {t}, {out},
           [dtype = t.dtype()](Backward& bw) { bw.set(0, astype(bw.grad(), dtype)); });
  }
  return out;
}

}  // namespace

Tensor astype(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  if (is_complex(t.dtype()) && is_bool(dtype)) return not_equal(t, scalar(0, t.dtype()));
  Tensor out = empty_like(t, dtype);
  copy_into(out, t);
  return record_copy("astype", t, out);
}

Tensor to_device(const Tensor& t, Device device) {
  if (t.device() == device) return t;
  check_device(device);
  Tensor out;
  {
    GradMode off(false);
    const Tensor dense = t.is_dense() ? t : clone(t);
    out = empty_strided(t.shape(), dense_strides_like(t.shape(), dense.strides()), t.dtype(), device);
    copy_bytes(out.data(), device, dense.data(), t.device(),
               static_cast<size_t>(t.numel() * itemsize(t.dtype())));
  }
  if (is_differentiable(t.dtype()) && needs_grad(t)) {
    record("to_device", {t}, {out},
           [from = t.device()](Backward& bw) { bw.set(0, to_device(bw.grad(), from)); });
  }
  return out;
}

Tensor clone(const Tensor& t) {
  Tensor out = empty_like(t);
  copy_into(out, t);
  return record_copy("clone", t, out);
}

Tensor contiguous(const Tensor& t, MemoryFormat format) {
  if (t.is_contiguous(format)) return t;
  check(format == MemoryFormat::kContiguous || t.ndim() == 4,
        "contiguous: the channels-last layout needs 4 dimensions, got shape ",
        to_string(t.shape()));
  const Dims& s = t.shape();
  Tensor out = format == MemoryFormat::kContiguous
                   ? empty(s, t.dtype(), t.device())
                   : empty_strided(s, {s[1] * s[2] * s[3], 1, s[1] * s[3], s[1]}, t.dtype(),
                                   t.device());
  copy_into(out, t);
  return record_copy("contiguous", t, out);
}

Tensor detach(const Tensor& t) { return alias(t); }

Tensor copy_(const Tensor& t, const Tensor& source) {
  const Dims shape = broadcast_shapes("copy_", t.shape(), source.shape());
  check(shape == t.shape(), "copy_: a source of shape ", to_string(source.shape()),
        " does not broadcast to ", to_string(t.shape()));
  check<TypeError>(is_complex(t.dtype()) || !is_complex(source.dtype()), "copy_: ",
                   dtype_name(t.dtype()), " cannot hold ", dtype_name(source.dtype()),
                   " numbers; take real, imag or abs first");
  const bool records = needs_grad(source) || needs_grad(t);
  check_inplace("copy_", t, records);
  const Tensor from = source.storage() == t.storage() ? clone(source) : source;
  copy_into(t, from);
  t.storage()->bump_version();
  if (records) {
    const Dims source_shape = source.shape();
    const DType dtype = source.dtype();
    const Device device = source.device();
    record_inplace("copy_", {Tensor(), source}, t, [source_shape, dtype, device](Backward& bw) {
      if (!bw.wants(1)) return;
      bw.set(1, to_device(astype(unbroadcast(bw.grad(), source_shape), dtype), device));
    });
  }
  return t;
}

}  // namespace zoo
