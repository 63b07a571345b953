// An operation in C++, in a module of its own: soft thresholding, sign(x) * max(|x| - t, 0).
//
//   c++ -O2 -std=c++17 -shared -fPIC $(python -m pybind11 --includes)
//       -I$(python -c "import engine; print(engine.get_include())")
//       soft_threshold.cpp -o soft_threshold$(python3-config --extension-suffix)
#include <zoo/extension.h>

#include <cmath>

namespace ext = zoo::extension;
namespace py = pybind11;

namespace {

// f(i) for every element, on the engine's threads.
template <class F>
void for_each(int64_t n, F f) {
  ext::parallel_for(0, n, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

template <class T>
void shrink(const T* x, T* y, int64_t n, T t) {
  for_each(n, [=](int64_t i) { y[i] = std::copysign(std::fmax(std::fabs(x[i]) - t, T(0)), x[i]); });
}

template <class T>
void shrink_grad(const T* y, const T* grad, T* out, int64_t n) {
  for_each(n, [=](int64_t i) { out[i] = y[i] == 0 ? T(0) : grad[i]; });
}

ext::Tensor forward(ext::Context ctx, ext::Tensor given, double t) {
  if (t < 0) throw py::value_error("soft_threshold: t must not be negative");
  const ext::Tensor x = given.contiguous(), y = ext::empty_like(x);
  if (x.holds<double>()) {
    shrink(x.data<double>(), y.data<double>(), x.numel(), t);
  } else {
    shrink(x.data<float>(), y.data<float>(), x.numel(), static_cast<float>(t));
  }
  ctx.save(y);
  return y;
}

py::tuple backward(ext::Context ctx, ext::Tensor given) {
  const ext::Tensor y = ctx.saved(0), grad = given.contiguous(), out = ext::empty_like(y);
  if (y.holds<double>()) {
    shrink_grad(y.data<double>(), grad.data<double>(), out.data<double>(), y.numel());
  } else {
    shrink_grad(y.data<float>(), grad.data<float>(), out.data<float>(), y.numel());
  }
  return py::make_tuple(out, py::none());
}

}  // namespace

PYBIND11_MODULE(soft_threshold, m) {
  ext::def_differentiable(m, "soft_threshold", forward, backward, "Shrinks towards 0 by t.");
}
