// The tape. Each differentiable operation records a Node that knows how to turn gradients of its
// outputs into gradients of its inputs, and edges to the nodes those inputs came from.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

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

struct Edge {
  Ref<Node> node;
  int input_nr = 0;
};

class Node : public RefCounted {
 public:
  explicit Node(const char* name);

  const char* name() const { return name_; }
  uint32_t location() const { return location_; }
  uint64_t sequence() const { return sequence_; }
  // "'exp' (train.py:12)"
  std::string where() const;

  // One gradient per input, undefined where none flows.
  virtual std::vector<Tensor> apply(std::vector<Tensor>&& grads) = 0;
  // Frees what the rule saved. A released node cannot be applied again.
  virtual void free_saved() {}
  virtual bool freed() const { return false; }

  std::vector<Edge> next;
  struct Output {
    Dims shape;
    DType dtype;
  };
  std::vector<Output> outputs;

 protected:
  void destroy() noexcept override;

 private:
  const char* name_;
  uint32_t location_;
  uint64_t sequence_;
};

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
  bool defined() const { return tensor_.defined(); }

 private:
  Tensor tensor_;
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
