// Nodes of the tape as Python sees them, hooks, anomalies, and how saved tensors are kept.
#include "bindings/bind.h"

namespace zoo {
namespace {

// A Python object that C++ may copy and drop from any thread.
using Held = std::shared_ptr<PyObject>;

Held hold(const py::object& o) {
  return Held(py::object(o).release().ptr(), [](PyObject* p) {
    if (!Py_IsInitialized()) return;
    py::gil_scoped_acquire lock;
    Py_DECREF(p);
  });
}

py::tuple to_tuple(const std::vector<Tensor>& tensors) {
  py::tuple out(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) out[i] = py::cast(tensors[i]);
  return out;
}

Tensor tensor_or_none(py::handle h, const char* who) {
  if (h.is_none()) return {};
  check<TypeError>(is_tensor(h), who, ": a hook returned ",
                   py::cast<std::string>(py::repr(h)).substr(0, 60),
                   ", expected an engine.Tensor or None");
  return py::cast<Tensor>(h);
}

std::vector<Tensor> tensors_or_none(const py::object& given, const char* who) {
  std::vector<Tensor> out;
  if (given.is_none()) return out;
  const bool many = py::isinstance<py::tuple>(given) || py::isinstance<py::list>(given);
  const py::tuple all = many ? py::tuple(given) : py::make_tuple(given);
  for (py::handle h : all) out.push_back(tensor_or_none(h, who));
  return out;
}

// What register_hook returns. It keeps neither the graph nor the hook alive.
struct HookHandle {
  std::weak_ptr<Hooks> hooks;
  uint64_t id;

  void remove() const {
    if (const auto alive = hooks.lock()) alive->remove(id);
  }
};

template <class Fn>
HookHandle add_hook(Node& node, Fn fn) {
  const uint64_t id = node.hooks().add(std::move(fn));
  return {node.hooks_or_null(), id};
}

HookHandle hook_on_tensor(const Tensor& t, const py::object& fn) {
  check<AutogradError>(t.requires_grad(), "register_hook: ", describe(t),
                       " does not require gradients, so the hook would never run");
  const Edge edge = gradient_edge(t);
  const uint64_t id = edge.node->hooks().add(
      edge.input_nr, [held = hold(fn)](const Tensor& grad) {
        py::gil_scoped_acquire lock;
        const py::object result = py::handle(held.get())(grad);
        return tensor_or_none(result, "register_hook");
      });
  return {edge.node->hooks_or_null(), id};
}

HookHandle hook_on_leaf(const Tensor& t, const py::object& fn) {
  check<AutogradError>(t.requires_grad() && !t.grad_fn(),
                       "register_post_accumulate_grad_hook: expected a leaf that requires "
                       "gradients, got ",
                       describe(t), t.grad_fn() ? ", the result of " + std::string(t.grad_fn()->where())
                                                : std::string(", which requires none"));
  return add_hook(*gradient_edge(t).node, LeafHook([held = hold(fn)](const Tensor& leaf) {
    py::gil_scoped_acquire lock;
    py::handle(held.get())(leaf);
  }));
}

// An accumulator like a leaf's; the tensor owns it and the node only calls it.
void retain_grad(const Tensor& t) {
  check<AutogradError>(t.requires_grad(), "retain_grad: ", describe(t),
                       " does not require gradients");
  AutogradMeta& meta = t.impl()->autograd();
  if (!meta.grad_fn || meta.accumulator) return;
  meta.accumulator = make_ref<AccumulateGrad>(t.impl());
  meta.grad_fn->hooks().add(meta.output_nr, [keeper = meta.accumulator](const Tensor& grad) {
    keeper->apply({grad});
    return Tensor();
  });
}

void bind_node_class(py::module_& m) {
  py::class_<HookHandle>(m, "_HookHandle", "A registered hook; remove() takes it back.")
      .def("remove", &HookHandle::remove, "The hook runs no more. Doing it twice is no error.")
      .def("__enter__", [](const py::object& self) { return self; })
      .def("__exit__", [](const HookHandle& h, const py::args&) { h.remove(); });
  py::class_<Node, Ref<Node>>(
      m, "Node",
      "A recorded operation: what turns gradients of its results into gradients of its operands.\n\n"
      ">>> x = engine.ones(2)\n>>> x.requires_grad = True\n"
      ">>> (x * x).grad_fn.name()\n'multiply'")
      .def("name", &Node::name, "Name of the operation.")
      .def_property_readonly("location",
                             [](const Node& n) { return location_text(n.location()); },
                             "The line of the program that ran the operation, 'file.py:12'.")
      .def_property_readonly(
          "next_functions",
          [](const Node& n) {
            py::tuple out(n.next.size());
            for (size_t i = 0; i < n.next.size(); ++i) {
              out[i] = py::make_tuple(n.next[i].node, n.next[i].input_nr);
            }
            return out;
          },
          "For each operand, the node that it came from (None if it needs no gradient) and which "
          "of that node's results it is.")
      .def(
          "register_hook",
          [](Node& n, const py::object& fn) {
            return add_hook(n, NodeHook([held = hold(fn)](const std::vector<Tensor>& results,
                                                          const std::vector<Tensor>& grads) {
              py::gil_scoped_acquire lock;
              return tensors_or_none(py::handle(held.get())(to_tuple(results), to_tuple(grads)),
                                     "register_hook");
            }));
          },
          py::arg("hook"),
          "Calls hook(grad_inputs, grad_outputs) after this node ran in a backward pass; a tuple "
          "that it returns replaces grad_inputs. Returns a handle with remove().")
      .def(
          "register_prehook",
          [](Node& n, const py::object& fn) {
            return add_hook(n, NodePreHook([held = hold(fn)](const std::vector<Tensor>& grads) {
              py::gil_scoped_acquire lock;
              return tensors_or_none(py::handle(held.get())(to_tuple(grads)), "register_prehook");
            }));
          },
          py::arg("hook"),
          "Calls hook(grad_outputs) before this node runs in a backward pass; a tuple that it "
          "returns replaces them. Returns a handle with remove().")
      .def("__repr__", [](const Node& n) {
        return concat_text("<", n.name(), " at ", location_text(n.location()), ">");
      });
}

class PythonSavedHooks final : public SavedHooks {
 public:
  PythonSavedHooks(const py::object& pack, const py::object& unpack)
      : pack_(hold(pack)), unpack_(hold(unpack)) {}

  std::shared_ptr<void> pack(const Tensor& t) override {
    py::gil_scoped_acquire lock;
    return hold(py::handle(pack_.get())(t));
  }
  Tensor unpack(const std::shared_ptr<void>& packed) override {
    py::gil_scoped_acquire lock;
    const py::object t = py::handle(unpack_.get())(py::handle(static_cast<PyObject*>(packed.get())));
    check<TypeError>(is_tensor(t),
                     "saved_tensors_hooks: unpack must return an engine.Tensor, got ",
                     py::cast<std::string>(py::repr(t)).substr(0, 60));
    return py::cast<Tensor>(t);
  }
  py::tuple functions() const {
    return py::make_tuple(py::reinterpret_borrow<py::object>(pack_.get()),
                          py::reinterpret_borrow<py::object>(unpack_.get()));
  }

 private:
  Held pack_, unpack_;
};

// Called while a Python exception from a hook or a custom rule is on its way.
void note_to_python_error(const std::string& note) {
  try {
    throw;
  } catch (py::error_already_set& error) {
    py::gil_scoped_acquire lock;
    const auto value = py::reinterpret_borrow<py::object>(error.value());
    if (py::hasattr(value, "add_note")) {  // Python 3.11
      value.attr("add_note")(note);
      return;
    }
    const py::tuple args = value.attr("args");
    if (args.size() == 1 && py::isinstance<py::str>(args[0])) {
      value.attr("args") = py::make_tuple(py::cast<std::string>(args[0]) + "\n" + note);
    }
  } catch (...) {  // no Python exception: it stays as it is
  }
}

void bind_modes(py::module_& m) {
  m.def("_set_anomaly_mode",
        [](bool backward, bool forward) -> py::tuple {
          const AnomalyMode before = anomaly_mode();
          set_anomaly_mode({backward, forward});
          return py::make_tuple(before.backward, before.forward);
        },
        py::arg("backward"), py::arg("forward"), "Sets what is watched; returns what was.");
  m.def("_set_saved_hooks",
        [](const py::object& functions) -> py::object {
          const auto before = std::static_pointer_cast<PythonSavedHooks>(saved_hooks());
          if (functions.is_none()) {
            set_saved_hooks(nullptr);
          } else {
            const auto pair = py::cast<py::tuple>(functions);
            set_saved_hooks(std::make_shared<PythonSavedHooks>(pair[0], pair[1]));
          }
          return before ? py::object(before->functions()) : py::none();
        },
        py::arg("functions"), "Sets (pack, unpack) or None; returns what was there.");
}

}  // namespace

void bind_node(py::module_& m, TensorClass& cls) {
  bind_node_class(m);
  bind_modes(m);
  set_note_to_error(&note_to_python_error);
  cls.def_property_readonly("grad_fn", [](const Tensor& t) -> std::optional<Ref<Node>> {
                              if (!t.grad_fn()) return std::nullopt;
                              return t.grad_fn();
                            },
                            "The recorded operation that made this tensor, or None.\n\n"
                            ">>> x = engine.ones(2)\n>>> x.requires_grad = True\n"
                            ">>> (x * x).grad_fn.name()\n'multiply'")
      .def("register_hook", &hook_on_tensor, py::arg("hook"),
           "Calls hook(grad) whenever the gradient of this tensor is complete; a tensor that it "
           "returns replaces it. Returns a handle with remove(). A hook lives as long as the "
           "tensor's graph; one on a leaf that refers to that leaf keeps it alive until removed. "
           "Raises AutogradError if the tensor requires no gradients.\n\n"
           ">>> x = engine.ones(2)\n>>> x.requires_grad = True\n"
           ">>> with x.register_hook(lambda grad: grad * 10):\n...     x.sum().backward()\n"
           ">>> x.grad.tolist()\n[10.0, 10.0]")
      .def("register_post_accumulate_grad_hook", &hook_on_leaf, py::arg("hook"),
           "Calls hook(leaf) whenever backward() has added to .grad of this leaf. Returns a handle "
           "with remove().\n\n"
           ">>> x, seen = engine.ones(2), []\n>>> x.requires_grad = True\n"
           ">>> handle = x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.shape))\n"
           ">>> x.sum().backward()\n>>> seen\n[(2,)]")
      .def("retain_grad", &retain_grad,
           "Makes backward() fill .grad of this tensor too, though it is no leaf.\n\n"
           ">>> x = engine.ones(2)\n>>> x.requires_grad = True\n>>> y = x * 3\n"
           ">>> y.retain_grad()\n>>> y.sum().backward()\n>>> y.grad.tolist()\n[1.0, 1.0]");
}

}  // namespace zoo
