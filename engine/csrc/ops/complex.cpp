#include "ops/complex.h"

#include "autograd/node.h"
#include "ops/ops.h"

namespace zoo {
namespace {

ComplexFallback g_fallback = nullptr;

}  // namespace

void set_complex_fallback(ComplexFallback fn) { g_fallback = fn; }

Tensor compute_complex(const char* name, const std::vector<Tensor>& inputs) {
  check<NotImplemented>(g_fallback != nullptr, name, ": no complex arithmetic is installed");
  GradMode off(false);
  Device device;
  std::vector<Tensor> on_host;
  for (const Tensor& t : inputs) {
    if (!is_host_number(t)) device = t.device();
    on_host.push_back(to_host(t));
  }
  return to_device(g_fallback(name, on_host), device);
}

Tensor complex_part(const Tensor& t, int which) {
  Dims strides;
  for (int64_t s : t.strides()) strides.push_back(2 * s);
  Tensor out(make_ref<TensorImpl>(t.storage(), real_dtype(t.dtype()), t.shape(), strides,
                                  2 * t.offset() + which));
  out.impl()->is_view = true;
  return out;
}

void check_ordered(const char* op, const Tensor& t) {
  check<TypeError>(!is_complex(t.dtype()), op, ": ", dtype_name(t.dtype()),
                   " numbers have no order; take real, imag or abs first");
}

Tensor join_parts(const Tensor& real_values, const Tensor& imag_values) {
  Tensor out = empty_like(real_values, complex_dtype(real_values.dtype()));
  {
    GradMode off(false);
    copy_(complex_part(out, 0), real_values);
    copy_(complex_part(out, 1), imag_values);
  }
  if (needs_grad(real_values, imag_values)) {
    record("complex", {real_values, imag_values}, {out}, [](Backward& bw) {
      if (bw.wants(0)) bw.set(0, real(bw.grad()));
      if (bw.wants(1)) bw.set(1, imag(bw.grad()));
    });
  }
  return out;
}

Tensor real(const Tensor& t) {
  if (!is_complex(t.dtype())) return t;
  Tensor out = complex_part(t, 0);
  if (needs_grad(t)) {
    record("real", {t}, {out},
           [dtype = t.dtype()](Backward& bw) { bw.set(0, astype(bw.grad(), dtype)); });
  }
  return out;
}

Tensor imag(const Tensor& t) {
  if (!is_complex(t.dtype())) return zeros_like(t);
  Tensor out = complex_part(t, 1);
  if (needs_grad(t)) {
    record("imag", {t}, {out}, [](Backward& bw) {
      const Tensor g = bw.grad();
      bw.set(0, join_parts(zeros_like(g), g));
    });
  }
  return out;
}

Tensor conj(const Tensor& t) {
  if (!t.defined() || !is_complex(t.dtype())) return t;
  Tensor out = empty_like(t);
  {
    GradMode off(false);
    copy_(complex_part(out, 0), complex_part(t, 0));
    copy_(complex_part(out, 1), negative(complex_part(t, 1)));
  }
  if (needs_grad(t)) {
    record("conj", {t}, {out}, [](Backward& bw) { bw.set(0, conj(bw.grad())); });
  }
  return out;
}

}  // namespace zoo
