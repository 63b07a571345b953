// Complex numbers: their parts, and numpy as what computes on them.
#include "bindings/bind.h"
#include "ops/complex.h"

namespace zoo {
namespace {

// Operations run without Python's lock, so this takes it again.
Tensor compute_with_numpy(const char* name, const std::vector<Tensor>& inputs) {
  py::gil_scoped_acquire lock;
  py::list arrays;
  for (const Tensor& t : inputs) arrays.append(py::cast(detach(t)).attr("numpy")());
  return to_tensor(py::module_::import("engine.complex_numbers").attr("compute")(name, arrays));
}

}  // namespace

void bind_complex(py::module_& m, TensorClass& cls) {
  set_complex_fallback(&compute_with_numpy);
  m.def("real", as_op(&real), py::arg("x"),
        "Real parts: a view of a complex tensor; a real tensor is returned as it is.\n\n"
        ">>> engine.real(engine.asarray([1 + 2j])).tolist()\n[1.0]");
  m.def("imag", as_op(&imag), py::arg("x"),
        "Imaginary parts: a view of a complex tensor, zeros for a real one.\n\n"
        ">>> engine.imag(engine.asarray([1 + 2j])).tolist()\n[2.0]");
  def_both(m, cls, "conj", &conj,
           "Complex conjugate: the sign of the imaginary part changed. A real tensor is returned "
           "as it is.\n\n>>> engine.conj(engine.asarray([1 + 2j])).tolist()\n[(1-2j)]");
  cls.def_property_readonly("real", as_op(&real), "Real parts, as a view.\n\n"
                                                  ">>> engine.asarray([1 + 2j]).real.tolist()\n"
                                                  "[1.0]")
      .def_property_readonly("imag", as_op(&imag),
          "Imaginary parts, a view of a complex tensor.\n\n"
          ">>> engine.asarray([1 + 2j]).imag.tolist()\n[2.0]");
}

}  // namespace zoo
