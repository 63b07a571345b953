#include "autograd/node.h"

#include "autograd/arithmetic.h"

namespace zoo {
namespace {

thread_local bool tl_grad_enabled = true;
thread_local uint32_t tl_location = 0;
thread_local AnomalyMode tl_anomaly;
thread_local std::shared_ptr<SavedHooks> tl_saved_hooks;
std::atomic<uint64_t> g_sequence{0};
LocationText g_location_text = nullptr;

// Nodes whose last reference went away while another node was being destroyed. Emptied by the
// outermost destroy(): graphs of any length are freed without recursion.
thread_local std::vector<Node*>* tl_doomed = nullptr;

}  // namespace

bool grad_enabled() { return tl_grad_enabled; }
void set_grad_enabled(bool enabled) { tl_grad_enabled = enabled; }
AnomalyMode anomaly_mode() { return tl_anomaly; }
void set_anomaly_mode(AnomalyMode mode) { tl_anomaly = mode; }
std::shared_ptr<SavedHooks> saved_hooks() { return tl_saved_hooks; }
void set_saved_hooks(std::shared_ptr<SavedHooks> hooks) { tl_saved_hooks = std::move(hooks); }
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

NodeText::operator std::string() const { return concat_text(*this); }

std::ostream& operator<<(std::ostream& out, const NodeText& text) {
  return out << "'" << text.node_.name() << "' (" << location_text(text.node_.location()) << ")";
}

void Node::take_new_sequence() { sequence_ = g_sequence.fetch_add(1, std::memory_order_relaxed); }

Hooks& Node::hooks() {
  if (!hooks_) hooks_ = std::make_shared<Hooks>();
  return *hooks_;
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
  pack();
}

Saved Saved::output(const Tensor& result, int output_nr) {
  Saved saved;
  saved.version_ = result.storage()->version();
  saved.tensor_ = alias(result);
  saved.is_output_ = true;
  saved.output_nr_ = output_nr;
  saved.pack();
  return saved;
}

void Saved::pack() {
  if (!tl_saved_hooks) [[likely]] return;
  GradMode off(false);
  auto packed = std::make_shared<Packed>(Packed{tl_saved_hooks, nullptr, tensor_.shape(),
                                                tensor_.strides(), tensor_.dtype()});
  const bool dense = tensor_.is_dense();
  packed->value = tl_saved_hooks->pack(tensor_);
  if (!dense) packed->strides = contiguous_strides(packed->shape);
  packed_ = std::move(packed);
  tensor_ = Tensor();
}

Tensor Saved::unpacked() const {
  GradMode off(false);
  const Tensor t = packed_->hooks->unpack(packed_->value);
  check<AutogradError>(t.defined() && t.shape() == packed_->shape && t.dtype() == packed_->dtype,
                       "saved_tensors_hooks: unpack returned ", describe(t),
                       ", pack was given ", dtype_name(packed_->dtype), " ",
                       to_string(packed_->shape));
  // Kernels read saved tensors in the memory order that they had.
  return with_strides(alias(t), packed_->strides);
}

Tensor Saved::get() const {
  if (!defined()) return {};
  if (packed_) {
    Saved plain = *this;
    plain.tensor_ = unpacked();
    plain.packed_ = nullptr;
    plain.version_ = plain.tensor_.storage()->version();
    return plain.get();
  }
  const uint32_t now = tensor_.storage()->version();
  if (now != version_) [[unlikely]] {
    const Node* node = running_node();
    throw AutogradError(concat_text(
        "backward of ", node ? std::string(node->where()) : std::string("an operation"), ": a tensor it saved (",
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
  return zeros_for_gradient(out.shape, out.dtype, out.device);
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
  bool late = false;
  for (const Tensor& t : inputs) {
    node->next.push_back(gradient_edge(t));
    const Node* from = node->next.back().node.get();
    late = late || (from && !from->next.empty() && from->sequence() > node->sequence());
  }
  // A view whose base had changed got its node just now; the walk relies on the order.
  if (late) [[unlikely]] node->take_new_sequence();
  int nr = 0;
  for (const Tensor& t : outputs) {
    node->outputs.push_back({t.shape(), t.dtype(), t.device()});
    if (tl_anomaly.forward) check_result(*node, t);
    AutogradMeta& meta = t.impl()->autograd();
    meta.requires_grad = false;
    meta.grad_fn = node;
    meta.output_nr = nr++;
  }
}

void attach_inplace(Ref<Node> node, const std::vector<Tensor>& inputs, const Tensor& t) {
  attach(std::move(node), inputs, {t});
  if (t.impl()->base) {
    rebase(t);
  } else {
    ++t.impl()->history;
  }
}

void check_result(const Node& node, const Tensor& result) {
  if (!tl_anomaly.forward) return;
  GradMode off(false);
  const std::string found = not_finite(result);
  check<AutogradError>(found.empty(), node.where(), ": in its result, ", describe(result), ", ",
                       found);
}

namespace {

bool elements_share_memory(const Tensor& t) {
  for (int i = 0; i < t.ndim(); ++i) {
    if (t.strides()[i] == 0 && t.shape()[i] > 1) return t.numel() > 0;
  }
  return false;
}

bool is_gradient_leaf(const TensorImpl& t) { return t.meta && t.meta->requires_grad && !t.meta->grad_fn; }

}  // namespace

void check_inplace(const char* op, const Tensor& t, bool records) {
  check(!t.storage()->read_only(), op, ": this tensor shares read-only memory (",
        describe(t), ", from a read-only numpy array or a mapped file); work on t.clone()");
  check(!elements_share_memory(t), op, ": elements of this tensor (", describe(t),
        ") share memory, as after broadcast_to; work on t.clone()");
  if (!grad_enabled()) return;
  const bool is_leaf = t.requires_grad() && !t.grad_fn();
  check<AutogradError>(!is_leaf, op, ": a leaf that requires gradients (", describe(t),
                       ") cannot be changed in place while operations are recorded; do it under "
                       "engine.no_grad(), or work on a copy");
  const TensorImpl* base = t.impl()->base.get();
  check<AutogradError>(base == nullptr || !is_gradient_leaf(*base), op, ": this tensor (",
                       describe(t), ") is a view of a leaf that requires gradients, which cannot "
                       "be changed in place while operations are recorded; do it under "
                       "engine.no_grad(), or work on a copy");
  check<AutogradError>(
      base != nullptr || !t.impl()->is_view || !(records || t.requires_grad()), op,
      ": this view (", describe(t), ") was made where nothing is recorded, so a gradient through "
      "an in-place change of it is not defined; make the view outside engine.no_grad(), or use the "
      "operation that makes a new tensor");
}

}  // namespace zoo
