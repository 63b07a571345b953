// engine._C: the native module.
#include "bindings/bind.h"

namespace zoo {
namespace {

void bind_errors(py::module_& m) {
  // Leaked on purpose: translators may run while the interpreter goes down.
  static auto* autograd_error =
      new py::exception<AutogradError>(m, "AutogradError", PyExc_RuntimeError);
  autograd_error->doc() =
      "The graph cannot give the gradient that was asked for.\n\n"
      ">>> try:\n...     engine.zeros(2).sum().backward()\n"
      "... except engine.AutogradError:\n...     'nothing was recorded'\n"
      "'nothing was recorded'";
  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const AutogradError& e) {
      py::set_error(*autograd_error, e.what());
    } catch (const ValueError& e) {
      py::set_error(PyExc_ValueError, e.what());
    } catch (const TypeError& e) {
      py::set_error(PyExc_TypeError, e.what());
    } catch (const IndexError& e) {
      py::set_error(PyExc_IndexError, e.what());
    } catch (const NotImplemented& e) {
      py::set_error(PyExc_NotImplementedError, e.what());
    } catch (const OutOfMemory& e) {
      py::set_error(PyExc_MemoryError, e.what());
    }
  });
}

}  // namespace
}  // namespace zoo

PYBIND11_MODULE(_C, m) {
  using namespace zoo;
  m.doc() = "The native tensor and autograd engine.";
  bind_errors(m);
  bind_location(m);
  bind_dtypes(m);
  bind_device(m);
  TensorClass tensor = bind_tensor(m);
  bind_numpy(m, tensor);
  bind_operators(m, tensor);
  bind_complex(m, tensor);
  bind_dlpack(m, tensor);
  bind_memory(m);
  bind_backend(m);
  bind_indexing(tensor);
  bind_functions(m, tensor);
  bind_node(m, tensor);
  bind_autograd(m, tensor);
  bind_function(m);
  bind_extension(m);
  bind_system(m);
  bind_random(m);
  bind_nn(m);
  bind_transformer(m);
  bind_optim(m);
  bind_order(m);
}
