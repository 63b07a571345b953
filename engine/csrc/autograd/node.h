// The tape. Each differentiable operation records a Node that knows how to turn gradients of its
// outputs into gradients of its inputs, and edges to the nodes those inputs came from.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "autograd/hooks.h"
#include "core/tensor.h"

namespace zoo {

// Whether operations record. Per thread.
bool grad_enabled();
void set_grad_enabled(bool enabled);
class GradMode {
 public:
  explicit GradMode(bool enabled) : previous_(grad_enabled()) { set_grad_enabled(enabled); }
  ~GradMode() { set_grad_enabled(previous_); }
  GradMode(const GradMode&) = delete;

 private:
  bool previous_;
};

// Where in the user's program an operation ran: an opaque number that the bindings set before
// each call and can turn into "file.py:12". Zero is unknown.
uint32_t current_location();
void set_current_location(uint32_t location);
using LocationText = std::string (*)(uint32_t);
void set_location_text(LocationText fn);
std::string location_text(uint32_t location);

// What detect_anomaly() watches on this thread.
struct AnomalyMode {
  bool backward = false;  // every gradient that a rule makes is checked for NaN and infinity
  bool forward = false;   // and so is every recorded result
};
AnomalyMode anomaly_mode();
void set_anomaly_mode(AnomalyMode mode);

struct Edge {
  Ref<Node> node;
  int input_nr = 0;
};

// "'exp' (train.py:12)", for messages; made when one needs it, since a walk asks at every node.
class NodeText {
 public:
  explicit NodeText(const Node& node) : node_(node) {}
  operator std::string() const;  // NOLINT: implicit, as a std::string was
  friend std::ostream& operator<<(std::ostream& out, const NodeText& text);

 private:
  const Node& node_;
};

class Node : public RefCounted {
 public:
  explicit Node(const char* name);

  const char* name() const { return name_; }
  uint32_t location() const { return location_; }
  uint64_t sequence() const { return sequence_; }
  void take_new_sequence();
  NodeText where() const { return NodeText(*this); }

  // One gradient per input, undefined where none flows.
  virtual std::vector<Tensor> apply(std::vector<Tensor>&& grads) = 0;
  // Frees what the rule saved. A released node cannot be applied again.
  virtual void free_saved() {}
  virtual bool freed() const { return false; }

  Hooks& hooks();  // made when first asked for
  const std::shared_ptr<Hooks>& hooks_or_null() const { return hooks_; }

  std::vector<Edge> next;
  struct Output {
    Dims shape;
    DType dtype;
    Device device = {};
  };
  std::vector<Output> outputs;

 protected:
  void destroy() noexcept override;

 private:
  const char* name_;
  uint32_t location_;
  uint64_t sequence_;
  std::shared_ptr<Hooks> hooks_;  // handles that remove a hook watch it weakly
};

// Bindings say how to add a note to an error that is not one of core/errors.h, such as a Python
// exception. It is called while that error is being handled.
void set_note_to_error(void (*add)(const std::string& note));

// The end of an edge: adds what arrives to a leaf's grad. The leaf owns it, not the other way
// round, so that a graph keeps no leaf alive and no cycle exists.
class AccumulateGrad : public Node {
 public:
  explicit AccumulateGrad(TensorImpl* leaf);
  std::vector<Tensor> apply(std::vector<Tensor>&& grads) override;
  void forget_leaf();
  // The leaf, or an undefined tensor when it is gone.
  Tensor leaf();

 private:
  std::mutex mutex_;
  TensorImpl* leaf_;
};

// How saved tensors are kept while they wait, if not as they are; see saved_tensors_hooks().
class SavedHooks {
 public:
  virtual ~SavedHooks() = default;
  virtual std::shared_ptr<void> pack(const Tensor& t) = 0;
  virtual Tensor unpack(const std::shared_ptr<void>& packed) = 0;
};
// Of this thread; null for none.
std::shared_ptr<SavedHooks> saved_hooks();
void set_saved_hooks(std::shared_ptr<SavedHooks> hooks);

// A tensor that a backward rule needs. get() checks that nobody changed it in place since.
class Saved {
 public:
  Saved() = default;
  // An input of the operation.
  explicit Saved(const Tensor& input);
  // A result of the operation: its grad_fn is the node that saves it, so keeping it as it is
  // would make a cycle.
  static Saved output(const Tensor& result, int output_nr = 0);

  // Valid while the node that saved it runs.
  Tensor get() const;
  bool defined() const { return tensor_.defined() || packed_; }

 private:
  struct Packed {
    std::shared_ptr<SavedHooks> hooks;
    std::shared_ptr<void> value;
    Dims shape, strides;
    DType dtype;
  };
  void pack();
  Tensor unpacked() const;

  Tensor tensor_;
  std::shared_ptr<const Packed> packed_;  // stands for tensor_
  Ref<Node> grad_fn_;
  int output_nr_ = 0;
  uint32_t version_ = 0;
  bool is_output_ = false;
};

// The node whose rule is running on this thread.
Node* running_node();

Edge gradient_edge(const Tensor& t);

// What a backward rule is given: the gradients that arrived, and which inputs want one.
class Backward {
 public:
  Backward(const Node& node, std::vector<Tensor>&& grads)
      : node_(node), grads_(std::move(grads)), result_(node.next.size()) {}
  // Gradient of output i; zeros where nothing arrived.
  Tensor grad(int i = 0) const;
  bool has_grad(int i) const { return grads_[i].defined(); }
  bool wants(int input) const { return static_cast<bool>(node_.next[input].node); }
  void set(int input, Tensor gradient) { result_[input] = std::move(gradient); }
  std::vector<Tensor> take() { return std::move(result_); }

 private:
  const Node& node_;
  std::vector<Tensor> grads_;
  std::vector<Tensor> result_;
};

template <class Rule>
class RuleNode final : public Node {
 public:
  RuleNode(const char* name, Rule rule) : Node(name), rule_(std::move(rule)) {}
  std::vector<Tensor> apply(std::vector<Tensor>&& grads) override {
    Backward backward(*this, std::move(grads));
    (*rule_)(backward);
    return backward.take();
  }
  void free_saved() override { rule_.reset(); }
  bool freed() const override { return !rule_.has_value(); }

 private:
  std::optional<Rule> rule_;
};

template <class... Tensors>
bool needs_grad(const Tensors&... inputs) {
  return grad_enabled() && ((inputs.defined() && inputs.requires_grad()) || ...);
}
bool any_needs_grad(const std::vector<Tensor>& inputs);

// Makes `node` the grad_fn of the outputs, with an edge per input.
void attach(Ref<Node> node, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs);

// Records an operation: `rule(Backward&)` stands beside its forward. Call it only where
// needs_grad(inputs...) held; undefined inputs get no gradient.
template <class Rule>
void record(const char* name, const std::vector<Tensor>& inputs,
            const std::vector<Tensor>& outputs, Rule rule) {
  attach(make_ref<RuleNode<Rule>>(name, std::move(rule)), inputs, outputs);
}

// The same for an operation that changed `t` in place. If t is a view, its base takes the change
// over, and other views of it see that when they are next used.
void attach_inplace(Ref<Node> node, const std::vector<Tensor>& inputs, const Tensor& t);
template <class Rule>
void record_inplace(const char* name, const std::vector<Tensor>& inputs, const Tensor& t,
                    Rule rule) {
  attach_inplace(make_ref<RuleNode<Rule>>(name, std::move(rule)), inputs, t);
}

// Throws AutogradError if forward anomalies are watched and a result of `node` is not finite.
void check_result(const Node& node, const Tensor& result);

// Call before an operation writes to `t` in place: refuses what would corrupt the graph.
void check_inplace(const char* op, const Tensor& t, bool records);

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
};
// Runs the tape from `roots`; undefined grads mean ones, for single elements only. With `inputs`,
// returns the gradients of those and touches no .grad (undefined where none arrived).
std::vector<Tensor> run_backward(const std::vector<Tensor>& roots, std::vector<Tensor> grads,
                                 BackwardOptions options, const std::vector<Tensor>& inputs = {});

}  // namespace zoo
