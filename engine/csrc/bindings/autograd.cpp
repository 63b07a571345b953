// The walk, and whether operations are recorded.
#include "autograd/autocast.h"
#include "bindings/bind.h"

namespace zoo {

void bind_autograd(py::module_& m, TensorClass& cls) {
  cls.def(
      "backward",
      [](const Tensor& t, const std::optional<Tensor>& grad, bool retain, bool create) {
        OpScope scope;
        run_backward({t}, {or_none(grad)}, {retain || create, create});
      },
      py::arg("grad") = py::none(), py::arg("retain_graph") = false,
      py::arg("create_graph") = false,
      "Adds the gradient of this tensor to .grad of every leaf it came from. Without grad the "
      "tensor must be a single element. Frees the graph unless retain_graph is set; "
      "create_graph records the walk itself, for gradients of gradients.\n\n"
      "Raises AutogradError if nothing was recorded, or the graph was freed or a saved tensor changed.\n"
      "\n>>> x = engine.asarray([3.0])\n>>> x.requires_grad = True\n>>> (x * x).backward()\n"
      ">>> x.grad.tolist()\n[6.0]");
  m.def(
      "_run_backward",
      [](const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
         const std::optional<std::vector<std::optional<Tensor>>>& grads, bool retain,
         bool create) {
        std::vector<Tensor> start;
        if (grads) {
          for (const auto& g : *grads) start.push_back(or_none(g));
        }
        std::vector<Tensor> found;
        {
          OpScope scope;
          found = run_backward(outputs, std::move(start), {retain || create, create}, inputs);
        }
        // Undefined ones as None.
        return std::vector<std::optional<Tensor>>(found.begin(), found.end());
      },
      py::arg("outputs"), py::arg("inputs"), py::arg("grad_outputs"), py::arg("retain_graph"),
      py::arg("create_graph"), "The walk behind engine.grad and engine.autograd.backward.");
  m.def("is_grad_enabled", &grad_enabled, "Whether operations are recorded on this thread.\n\n"
                                          ">>> with engine.no_grad():\n"
                                          "...     engine.is_grad_enabled()\nFalse");
  m.def("set_grad_enabled", &set_grad_enabled, py::arg("enabled"),
        "Turns recording on or off for this thread.\n\n"
        "engine.no_grad() does it for a block and undoes it.\n\n"
        ">>> engine.set_grad_enabled(True)");
  m.def("_autocast_dtypes", [] { return autocast_dtypes(); },
        "What products on (cpu, cuda) are computed in on this thread, None for what they are in.");
  m.def("_set_autocast_dtypes", [](const AutocastDtypes& dtypes) { autocast_dtypes() = dtypes; },
        py::arg("dtypes"), "What engine.autocast does for a block and undoes.");
}

}  // namespace zoo
