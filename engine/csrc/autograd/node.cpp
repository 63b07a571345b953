#include "autograd/node.h"

#include "autograd/arithmetic.h"

namespace zoo {
namespace {

thread_local bool tl_grad_enabled = true;
thread_local uint32_t tl_location = 0;
std::atomic<uint64_t> g_sequence{0};
LocationText g_location_text = nullptr;

// Nodes whose last reference went away while another node was being destroyed. Emptied by the
// outermost destroy(): graphs of any length are freed without recursion.
thread_local std::vector<Node*>* tl_doomed = nullptr;

}  // namespace

bool grad_enabled() { return tl_grad_enabled; }
void set_grad_enabled(bool enabled) { tl_grad_enabled = enabled; }
uint32_t current_location() { return tl_location; }
void set_current_location(uint32_t location) { tl_location = location; }
void set_location_text(LocationText fn) { g_location_text = fn; }
std::string location_text(uint32_t location) {
  return location != 0 && g_location_text ? g_location_text(location) : std::string("unknown line");
}

Node::Node(const char* name)
    : name_(name),
      location_(tl_location),
      sequence_(g_sequence.fetch_add(1, std::memory_order_relaxed)) {}

std::string Node::where() const {
  return concat_text("'", name_, "' (", location_text(location_), ")");
}

void Node::destroy() noexcept {
  if (tl_doomed != nullptr) {
    tl_doomed->push_back(this);
    return;
  }
  std::vector<Node*> doomed{this};
  tl_doomed = &doomed;
  while (!doomed.empty()) {
    Node* node = doomed.back();
    doomed.pop_back();
    delete node;  // pushes what only it held
  }
  tl_doomed = nullptr;
}

AccumulateGrad::AccumulateGrad(TensorImpl* leaf) : Node("accumulate_grad"), leaf_(leaf) {}

void AccumulateGrad::forget_leaf() {
  std::lock_guard lock(mutex_);
  leaf_ = nullptr;
}

Tensor AccumulateGrad::leaf() {
  std::lock_guard lock(mutex_);
  if (leaf_ == nullptr || !leaf_->try_retain()) return {};
  return Tensor(Ref<TensorImpl>::adopt(leaf_));
}

std::vector<Tensor> AccumulateGrad::apply(std::vector<Tensor>&& grads) {
  const Tensor target = leaf();
  Tensor incoming = std::move(grads[0]);
  if (!target.defined() || !incoming.defined()) return {};
  Tensor& slot = target.impl()->autograd().grad;
  if (slot.defined()) {
    slot = sum_gradients(slot, incoming, !grad_enabled());
    return {};
  }
  // A gradient that nobody else holds becomes the leaf's own; anything else is copied, so that
  // changing .grad in place changes nothing but .grad.
  const bool ours = incoming.impl()->use_count() == 1 && incoming.storage()->use_count() == 1 &&
                    incoming.is_dense();
  slot = ours || grad_enabled() ? std::move(incoming) : copy_gradient(incoming);
  return {};
}

Saved::Saved(const Tensor& input) {
  if (!input.defined()) return;
  version_ = input.storage()->version();
  if (input.requires_grad() && !input.grad_fn()) {
    tensor_ = input;  // a leaf: it must stay itself, so that gradients of gradients reach it
    return;
  }
  // An alias, since a later in-place operation may hang the tensor itself onto a newer node, and
  // that node may lead back here.
  tensor_ = alias(input);
  grad_fn_ = input.grad_fn();
  if (grad_fn_) output_nr_ = input.impl()->meta->output_nr;
}

Saved Saved::output(const Tensor& result, int output_nr) {
  Saved saved;
  saved.version_ = result.storage()->version();
  saved.tensor_ = alias(result);
  saved.is_output_ = true;
  saved.output_nr_ = output_nr;
  return saved;
}

Tensor Saved::get() const {
  if (!tensor_.defined()) return {};
  const uint32_t now = tensor_.storage()->version();
  if (now != version_) [[unlikely]] {
    const Node* node = running_node();
    throw AutogradError(concat_text(
        "backward of ", node ? node->where() : std::string("an operation"), ": a tensor it saved (",
        describe(tensor_), ") was changed in place afterwards (version ", now, ", expected ",
        version_,
        "). Change a copy instead (y = y * 2, or y.clone() first), or make the in-place change "
        "before that operation"));
  }
  if (!grad_enabled()) return tensor_;
  Tensor t = tensor_;
  if (is_output_ || grad_fn_) {
    t = alias(tensor_);
    t.impl()->autograd().grad_fn = is_output_ ? Ref<Node>(running_node()) : grad_fn_;
    t.impl()->autograd().output_nr = output_nr_;
  }
  return t;
}

Edge gradient_edge(const Tensor& t) {
  if (!t.defined() || !t.requires_grad()) return {};
  AutogradMeta& meta = t.impl()->autograd();
  if (meta.grad_fn) return {meta.grad_fn, meta.output_nr};
  if (!meta.accumulator) meta.accumulator = make_ref<AccumulateGrad>(t.impl());
  return {meta.accumulator, 0};
}

Tensor Backward::grad(int i) const {
  if (grads_[i].defined()) return grads_[i];
  const auto& out = node_.outputs[i];
  return zeros_for_gradient(out.shape, out.dtype);
}

bool any_needs_grad(const std::vector<Tensor>& inputs) {
  if (!grad_enabled()) return false;
  for (const Tensor& t : inputs) {
    if (t.defined() && t.requires_grad()) return true;
  }
  return false;
}

void attach(Ref<Node> node, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  node->next.reserve(inputs.size());
  for (const Tensor& t : inputs) node->next.push_back(gradient_edge(t));
  int nr = 0;
  for (const Tensor& t : outputs) {
    node->outputs.push_back({t.shape(), t.dtype()});
    AutogradMeta& meta = t.impl()->autograd();
    meta.requires_grad = false;
    meta.grad_fn = node;
    meta.output_nr = nr++;
  }
}

void check_inplace(const char* op, const Tensor& t, bool records) {
  check(!t.storage()->read_only(), op, ": this tensor shares read-only memory (",
        describe(t), ", from a read-only numpy array or a mapped file); work on t.clone()");
  if (!grad_enabled()) return;
  const bool is_leaf = t.requires_grad() && !t.grad_fn();
  check<AutogradError>(!is_leaf, op, ": a leaf that requires gradients (", describe(t),
                       ") cannot be changed in place while operations are recorded; do it under "
                       "engine.no_grad(), or work on a copy");
  check<AutogradError>(
      !t.impl()->is_view || !(records || t.requires_grad()), op,
      ": this tensor is a view, and a gradient through an in-place change of a view is not "
      "defined here; assign through the base instead (base[index] = value), or use the operation "
      "that makes a new tensor");
}

}  // namespace zoo
