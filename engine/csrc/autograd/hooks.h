// Functions that see gradients on their way through the tape, and may replace them.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "core/tensor.h"

namespace zoo {

// Gets the gradient of one output of a node; an undefined result changes nothing.
using TensorHook = std::function<Tensor(const Tensor&)>;
// Gets the gradients of all outputs before the rule runs; an empty result changes nothing.
using NodePreHook = std::function<std::vector<Tensor>(const std::vector<Tensor>& grads)>;
// Gets what the rule made of them, too; an empty result changes nothing.
using NodeHook = std::function<std::vector<Tensor>(const std::vector<Tensor>& results,
                                                   const std::vector<Tensor>& grads)>;
// Gets a leaf whose .grad has just been added to.
using LeafHook = std::function<void(const Tensor&)>;

class Hooks {
 public:
  uint64_t add(int output_nr, TensorHook hook);
  uint64_t add(NodePreHook hook);
  uint64_t add(NodeHook hook);
  uint64_t add(LeafHook hook);
  void remove(uint64_t id);

  // Each runs the hooks of its kind in the order in which they were added. A hook may add or
  // remove hooks; that counts from the next walk on.
  void on_tensors(std::vector<Tensor>& grads, const std::string& where) const;
  void before_rule(std::vector<Tensor>& grads, const std::string& where) const;
  void after_rule(std::vector<Tensor>& results, const std::vector<Tensor>& grads,
                  const std::string& where) const;
  void on_leaf(const Tensor& leaf) const;
  bool wants_grads_after_rule() const;

 private:
  template <class Fn>
  struct Entry {
    uint64_t id;
    int output_nr;
    Fn fn;
  };
  template <class Fn>
  using List = std::vector<Entry<Fn>>;
  template <class Fn>
  uint64_t append(List<Fn>& list, int output_nr, Fn fn);
  template <class Fn>
  List<Fn> copy_of(const List<Fn>& list) const;

  mutable std::mutex mutex_;
  uint64_t last_id_ = 0;
  List<TensorHook> tensor_;
  List<NodePreHook> before_;
  List<NodeHook> after_;
  List<LeafHook> leaf_;
};

}  // namespace zoo
