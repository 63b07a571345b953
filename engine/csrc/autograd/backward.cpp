// The walk: nodes run when every gradient they wait for has arrived, leaves first, then the latest
// recorded.
// Nothing here recurses, so a graph may be as long as memory allows.
#include <algorithm>
#include <unordered_map>

#include "autograd/arithmetic.h"
#include "autograd/autocast.h"
#include "autograd/node.h"

namespace zoo {
namespace {

thread_local Node* tl_running = nullptr;
void (*g_note_to_error)(const std::string&) = nullptr;

// Within a catch block: throws the error on, with the place of the operation whose rule failed.
[[noreturn]] void rethrow_with_place(const Node& node) {
  const auto placed = [&](const auto& error) {
    const std::string text = error.what();
    using E = std::decay_t<decltype(error)>;
    if (text.find(location_text(node.location())) != std::string::npos) throw E(text);
    throw E(concat_text("backward of ", node.where(), ": ", text));
  };
  try {
    throw;
  } catch (const ValueError& e) {
    placed(e);
  } catch (const TypeError& e) {
    placed(e);
  } catch (const IndexError& e) {
    placed(e);
  } catch (const AutogradError& e) {
    placed(e);
  } catch (const NotImplemented& e) {
    placed(e);
  } catch (const OutOfMemory& e) {
    placed(e);
  } catch (...) {
    if (g_note_to_error) g_note_to_error(concat_text("In backward of ", node.where(), "."));
    throw;
  }
  throw;  // placed() always throws
}

// Finds the first gradient that is not finite, and says which rule made it.
void check_gradients(const Node& node, const std::vector<Tensor>& results) {
  GradMode off(false);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined()) continue;
    const std::string found = not_finite(results[i]);
    check<AutogradError>(found.empty(), "backward of ", node.where(),
                         " made a gradient that is not finite: in that of its input ", i, ", ",
                         describe(results[i]), ", ", found);
  }
}

struct Pending {
  std::vector<Tensor> grads;
  std::vector<bool> owned;  // the sum in this slot was made here: it may be added to in place
  int waiting = 0;
  bool needed = true;  // leads to one of the inputs asked for
};

class Walk {
 public:
  Walk(BackwardOptions options, const std::vector<Tensor>& inputs) : options_(options) {
    captured_.resize(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Edge edge = gradient_edge(inputs[i]);
      check<AutogradError>(static_cast<bool>(edge.node), "grad: input ", i, " (",
                           describe(inputs[i]), ") does not require gradients");
      captures_[edge.node.get()].push_back({edge.input_nr, i});
    }
  }

  std::vector<Tensor> run(const std::vector<Tensor>& roots, std::vector<Tensor> grads) {
    for (const Tensor& root : roots) visit(gradient_edge(root).node.get());
    explore();
    if (!captures_.empty()) mark_needed();
    for (size_t i = 0; i < roots.size(); ++i) {
      const Edge edge = gradient_edge(roots[i]);
      deliver(edge, std::move(grads[i]));
      Pending& p = pending_.at(edge.node.get());
      if (p.waiting == 0) make_ready(edge.node);
    }
    while (!ready_.empty()) {
      std::pop_heap(ready_.begin(), ready_.end(), later);
      const Ref<Node> node = std::move(ready_.back());
      ready_.pop_back();
      step(node);
    }
    return std::move(captured_);
  }

 private:
  // Leaves come before all else: their gradients are complete, others may want them while the walk
  // goes on (they travel between ranks), and nobody else holds on to what is added up.
  static bool later(const Ref<Node>& a, const Ref<Node>& b) {
    return std::pair(a->next.empty(), a->sequence()) < std::pair(b->next.empty(), b->sequence());
  }

  void visit(Node* node) {
    if (node != nullptr && pending_.try_emplace(node).second) {
      order_.push_back(node);
      pending_[node].grads.resize(std::max<size_t>(1, node->outputs.size()));
      pending_[node].owned.resize(pending_[node].grads.size());
    }
  }

  // Counts, for each node that the roots reach, the edges that will bring it a gradient.
  void explore() {
    for (size_t i = 0; i < order_.size(); ++i) {
      for (const Edge& edge : order_[i]->next) {
        if (!edge.node) continue;
        visit(edge.node.get());
        ++pending_.at(edge.node.get()).waiting;
      }
    }
  }

  // A node is needed if it is asked for or feeds one that is. Recorded order is a topological
  // order, so one pass from the oldest on settles it; accumulators of unasked leaves drop out.
  void mark_needed() {
    std::vector<Node*> oldest_first(order_);
    std::sort(oldest_first.begin(), oldest_first.end(), [this](Node* a, Node* b) {
      return std::pair(!a->next.empty(), a->sequence()) < std::pair(!b->next.empty(), b->sequence());
    });
    for (Node* node : oldest_first) {
      bool needed = captures_.count(node) > 0;
      for (const Edge& edge : node->next) {
        needed = needed || (edge.node && pending_.at(edge.node.get()).needed);
      }
      pending_.at(node).needed = needed;
    }
  }

  void deliver(const Edge& edge, Tensor grad) {
    if (!grad.defined()) return;
    Pending& p = pending_.at(edge.node.get());
    Tensor& slot = p.grads[edge.input_nr];
    if (!slot.defined()) {
      slot = std::move(grad);
      return;
    }
    const bool own = p.owned[edge.input_nr] && !options_.create_graph;
    slot = sum_gradients(slot, grad, own);
    p.owned[edge.input_nr] = true;
  }

  void make_ready(Ref<Node> node) {
    ready_.push_back(std::move(node));
    std::push_heap(ready_.begin(), ready_.end(), later);
  }

  void step(const Ref<Node>& node) {
    Pending p = std::move(pending_.at(node.get()));
    const Hooks* hooks = node->hooks_or_null().get();
    if (hooks != nullptr && p.needed) {
      guarded(*node, [&] { hooks->on_tensors(p.grads, node->where()); });
    }
    if (const auto it = captures_.find(node.get()); it != captures_.end()) {
      for (const auto& [nr, index] : it->second) captured_[index] = p.grads[nr];
    }
    const bool arrived = std::any_of(p.grads.begin(), p.grads.end(),
                                     [](const Tensor& g) { return g.defined(); });
    // With inputs named, leaves that were not asked for keep their .grad as it is.
    const bool leaf = node->next.empty() && dynamic_cast<AccumulateGrad*>(node.get()) != nullptr;
    const bool runs = arrived && p.needed && !(leaf && !captures_.empty());
    std::vector<Tensor> results;
    if (runs) {
      check<AutogradError>(!node->freed(), "backward of ", node->where(),
                           ": its saved tensors were freed by an earlier backward; call that one "
                           "with retain_graph=True to walk the graph twice");
      guarded(*node, [&] { results = run(*node, hooks, std::move(p.grads)); });
      if (!options_.retain_graph) node->free_saved();
    }
    for (size_t i = 0; i < node->next.size(); ++i) {
      const Edge& edge = node->next[i];
      if (!edge.node) continue;
      if (i < results.size()) deliver(edge, std::move(results[i]));
      if (--pending_.at(edge.node.get()).waiting == 0) make_ready(edge.node);
    }
  }

  // Runs something of the node's, with it as the running node; errors get its place.
  template <class F>
  static void guarded(Node& node, F&& f) {
    Node* outer = std::exchange(tl_running, &node);
    try {
      f();
    } catch (...) {
      tl_running = outer;
      rethrow_with_place(node);
    }
    tl_running = outer;
  }

  std::vector<Tensor> run(Node& node, const Hooks* hooks, std::vector<Tensor>&& grads) {
    std::vector<Tensor> kept;
    if (hooks != nullptr) {
      hooks->before_rule(grads, node.where());
      if (hooks->wants_grads_after_rule()) kept = grads;
    }
    std::vector<Tensor> results = node.apply(std::move(grads));
    if (anomaly_mode().backward) check_gradients(node, results);
    if (hooks != nullptr) {
      hooks->after_rule(results, kept, node.where());
      if (auto* leaf = dynamic_cast<AccumulateGrad*>(&node)) {
        if (const Tensor t = leaf->leaf(); t.defined()) hooks->on_leaf(t);
      }
    }
    return results;
  }

  BackwardOptions options_;
  std::unordered_map<Node*, Pending> pending_;
  std::vector<Node*> order_;
  std::vector<Ref<Node>> ready_;  // a heap
  std::unordered_map<Node*, std::vector<std::pair<int, size_t>>> captures_;
  std::vector<Tensor> captured_;
};

}  // namespace

Node* running_node() { return tl_running; }
void set_note_to_error(void (*add)(const std::string&)) { g_note_to_error = add; }

std::vector<Tensor> run_backward(const std::vector<Tensor>& roots, std::vector<Tensor> grads,
                                 BackwardOptions options, const std::vector<Tensor>& inputs) {
  grads.resize(roots.size());
  for (size_t i = 0; i < roots.size(); ++i) {
    const Tensor& root = roots[i];
    check<AutogradError>(root.requires_grad(), "backward: ", describe(root),
                         " does not require gradients: nothing it came from does, or it was made "
                         "under engine.no_grad()");
    if (!grads[i].defined()) {
      check<AutogradError>(root.numel() == 1, "backward: a tensor of shape ",
                           to_string(root.shape()),
                           " needs a gradient of that shape; only single elements start from 1");
      check<AutogradError>(!is_complex(root.dtype()), "backward: ", describe(root),
                           " is complex and needs a gradient; only real losses start from 1");
      grads[i] = ones_for_gradient(root);
    }
    check<AutogradError>(grads[i].shape() == root.shape(), "backward: the gradient has shape ",
                         to_string(grads[i].shape()), ", the tensor ", to_string(root.shape()));
  }
  if (anomaly_mode().backward) {
    for (const Tensor& g : grads) {
      GradMode off(false);
      const std::string found = not_finite(g);
      check<AutogradError>(found.empty(), "backward: in the gradient it starts from, ",
                           describe(g), ", ", found);
    }
  }
  GradMode mode(options.create_graph);
  AutocastOff exact;
  return Walk(options, inputs).run(roots, std::move(grads));
}

}  // namespace zoo
