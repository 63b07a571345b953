// Custom operations: engine.autograd.Function. A node of the tape whose rule is Python.
#include <unordered_set>

#include "bindings/bind.h"

namespace zoo {
namespace {

// What forward and backward of one call share: the `ctx` of both.
struct FunctionContext {
  std::string name;                        // of the Function's class
  std::vector<Tensor> to_save;             // what forward asked to keep; undefined is None
  std::vector<Saved> saved;                // the same, once forward is over
  std::vector<Tensor> non_differentiable;  // as forward marked them
  std::vector<bool> needs;                 // one per argument of forward
  bool materialize = true;
  bool forward_is_over = false;
  const Node* node = nullptr;  // null once its saved tensors are freed
};

// Names of nodes are C strings that outlive them; a program has a bounded number of classes.
const char* interned(const std::string& name) {
  static auto* names = new std::unordered_set<std::string>;
  return names->insert(name).first->c_str();
}

class FunctionNode final : public Node {
 public:
  FunctionNode(const std::string& name, py::object function, py::object context)
      : Node(interned(name)), function_(std::move(function)), context_(std::move(context)) {
    this->context().node = this;
  }
  ~FunctionNode() override { drop(); }

  FunctionContext& context() const { return *context_.cast<FunctionContext*>(); }
  void add_input(const Tensor& t) {
    next.push_back(gradient_edge(t));
    inputs_.push_back(t.defined() ? std::optional<Output>({t.shape(), t.dtype()}) : std::nullopt);
  }
  void add_output(const Tensor& t) {
    outputs.push_back(t.defined() ? Output{t.shape(), t.dtype(), t.device()}
                                  : Output{{}, DType::kF32});
    output_is_tensor_.push_back(t.defined());
  }

  std::vector<Tensor> apply(std::vector<Tensor>&& grads) override {
    py::gil_scoped_acquire lock;
    const bool materialize = context().materialize;
    py::tuple args(grads.size() + 1);
    args[0] = context_;
    for (size_t i = 0; i < grads.size(); ++i) {
      Tensor g = std::move(grads[i]);
      if (!g.defined() && materialize && output_is_tensor_[i]) {
        g = zeros(outputs[i].shape, outputs[i].dtype, outputs[i].device);
      }
      args[i + 1] = py::cast(g);
    }
    return checked(function_.attr("backward")(*args));
  }

  void free_saved() override { drop(); }
  bool freed() const override { return !context_; }

 private:
  std::vector<Tensor> checked(const py::object& result) const {
    py::tuple given = py::isinstance<py::tuple>(result) || py::isinstance<py::list>(result)
                          ? py::tuple(result)
                          : py::make_tuple(result);
    check<AutogradError>(given.size() == inputs_.size(), "backward of ", where(), " returned ",
                         given.size(), " gradients, expected ", inputs_.size(),
                         ": one for each argument of forward, None where there is none");
    std::vector<Tensor> grads(inputs_.size());
    for (size_t i = 0; i < grads.size(); ++i) {
      if (given[i].is_none()) continue;
      check<AutogradError>(inputs_[i].has_value(), "backward of ", where(),
                           " returned a gradient for argument ", i,
                           " of forward, which is no tensor; expected None");
      check<AutogradError>(is_tensor(given[i]), "backward of ", where(),
                           " returned a ", ClassText{given[i]}, " as gradient of argument ", i,
                           ", expected an engine.Tensor or None");
      if (!next[i].node) continue;  // nobody asked for it
      const Tensor g = py::cast<Tensor>(py::object(given[i]));
      check<AutogradError>(
          g.shape() == inputs_[i]->shape && is_differentiable(g.dtype()), "backward of ", where(),
          " returned a gradient of ", describe(g), " for argument ", i, ", which is ",
          dtype_name(inputs_[i]->dtype), " ", to_string(inputs_[i]->shape));
      grads[i] = astype(g, inputs_[i]->dtype);
    }
    return grads;
  }

  void drop() {
    if (!context_ && !function_) return;
    if (!Py_IsInitialized()) {  // nothing is left to give the references back to
      context_.release();
      function_.release();
      return;
    }
    py::gil_scoped_acquire lock;
    if (context_) {
      context().node = nullptr;
      context().saved.clear();
    }
    context_ = py::object();
    function_ = py::object();
  }

  py::object function_, context_;
  std::vector<std::optional<Output>> inputs_;  // empty for arguments that are no tensors
  std::vector<bool> output_is_tensor_;
};

bool holds(const std::vector<Tensor>& tensors, const Tensor& t) {
  for (const Tensor& other : tensors) {
    if (other.defined() && other.same_impl(t)) return true;
  }
  return false;
}

// What the user gets: tensors of their own over what forward returned, so that whatever forward
// kept as an attribute of ctx has no history and closes no cycle.
py::object finish(FunctionNode& node, FunctionContext& context, const std::vector<Tensor>& inputs,
                  const py::object& result) {
  const bool many = py::isinstance<py::tuple>(result) || py::isinstance<py::list>(result);
  const py::tuple given = many ? py::tuple(result) : py::make_tuple(result);
  py::tuple out(given.size());
  std::vector<Tensor> raw, made;
  for (size_t i = 0; i < given.size(); ++i) {
    const Tensor t = is_tensor(given[i]) ? py::cast<Tensor>(py::object(given[i])) : Tensor();
    Tensor mine = t;
    if (t.defined()) {
      mine = alias(t);
      for (const Tensor& input : inputs) {
        if (input.defined() && input.storage() == t.storage()) mine.impl()->is_view = true;
      }
    }
    node.add_output(t);
    if (t.defined() && is_differentiable(t.dtype()) && !holds(context.non_differentiable, t)) {
      check_result(node, t);
      AutogradMeta& meta = mine.impl()->autograd();
      meta.grad_fn = Ref<Node>(&node);
      meta.output_nr = static_cast<int>(i);
    }
    out[i] = t.defined() ? py::cast(mine) : py::object(given[i]);
    raw.push_back(t);
    made.push_back(mine);
  }
  for (const Tensor& t : context.to_save) {
    size_t nr = 0;
    while (nr < raw.size() && !(t.defined() && raw[nr].defined() && raw[nr].same_impl(t))) ++nr;
    const bool is_output = nr < raw.size() && !holds(inputs, t) && made[nr].requires_grad();
    context.saved.push_back(is_output ? Saved::output(made[nr], static_cast<int>(nr)) : Saved(t));
  }
  return many ? py::object(out) : py::object(out[0]);
}

py::object apply_function(const py::object& function, const py::args& args) {
  capture_location();
  auto* context = new FunctionContext;
  const py::object ctx = py::cast(context, py::return_value_policy::take_ownership);
  context->name = py::cast<std::string>(function.attr("__name__"));
  std::vector<Tensor> inputs;
  for (py::handle arg : args) {
    inputs.push_back(is_tensor(arg) ? py::cast<Tensor>(arg) : Tensor());
    context->needs.push_back(needs_grad(inputs.back()));
  }
  Ref<FunctionNode> node;  // made first: it takes the line of the call
  if (any_needs_grad(inputs)) {
    node = make_ref<FunctionNode>(context->name, function, ctx);
    for (const Tensor& t : inputs) node->add_input(t);
  }
  py::object result;
  {
    GradMode off(false);
    result = function.attr("forward")(ctx, *args);
  }
  const bool usable = is_tensor(result) || py::isinstance<py::tuple>(result) ||
                      py::isinstance<py::list>(result);
  check<TypeError>(usable, context->name, ".forward returned a ", ClassText{result},
                   ", expected an engine.Tensor or a tuple");
  if (node) result = finish(*node, *context, inputs, result);
  context->to_save.clear();
  context->non_differentiable.clear();
  context->forward_is_over = true;
  return result;
}

std::vector<Tensor> tensors_from(const FunctionContext& context, const char* method,
                                 const py::args& args) {
  std::vector<Tensor> tensors;
  for (py::handle h : args) {
    check<TypeError>(h.is_none() || is_tensor(h), context.name, ": ctx.", method,
                     " takes tensors and None, got ", ClassText{h},
                     "; keep other things as attributes of ctx");
    tensors.push_back(h.is_none() ? Tensor() : py::cast<Tensor>(h));
  }
  return tensors;
}

py::tuple saved_tensors(const FunctionContext& context) {
  const size_t count = context.forward_is_over ? context.saved.size() : context.to_save.size();
  check<AutogradError>(!context.forward_is_over ||
                           (context.node != nullptr && running_node() == context.node),
                       context.name,
                       ": ctx.saved_tensors is only there in forward and, until the graph is "
                       "freed, in backward");
  py::tuple out(count);
  for (size_t i = 0; i < count; ++i) {
    out[i] = py::cast(context.forward_is_over ? context.saved[i].get() : context.to_save[i]);
  }
  return out;
}

}  // namespace

void bind_function(py::module_& m) {
  py::class_<FunctionContext>(m, "_FunctionContext", py::dynamic_attr(),
                              "The ctx of a Function: what its forward keeps for its backward. "
                              "Other values may be kept as attributes.")
      .def(
          "save_for_backward",
          [](FunctionContext& c, const py::args& tensors) {
            c.to_save = tensors_from(c, "save_for_backward", tensors);
          },
          "Keeps tensors, and None, for backward; a change of one in place will be noticed.")
      .def_property_readonly("saved_tensors", &saved_tensors,
                             "The tensors given to save_for_backward, a tuple.")
      .def_property_readonly(
          "needs_input_grad",
          [](const FunctionContext& c) { return py::tuple(py::cast(c.needs)); },
          "For each argument of forward, whether a gradient for it is wanted.")
      .def(
          "mark_non_differentiable",
          [](FunctionContext& c, const py::args& outputs) {
            c.non_differentiable = tensors_from(c, "mark_non_differentiable", outputs);
          },
          "Says that no gradient flows through these outputs of forward.")
      .def(
          "set_materialize_grads", [](FunctionContext& c, bool value) { c.materialize = value; },
          py::arg("value"),
          "Whether backward gets zeros, the default, or None for outputs that no gradient reached.");
  m.def("_apply_function", &apply_function, py::arg("function"),
        "Runs function.forward and records function.backward.");
}

}  // namespace zoo
