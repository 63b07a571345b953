#include "autograd/hooks.h"

#include <algorithm>

namespace zoo {
namespace {

// A replacement must be able to stand where the gradient stood.
void replace(Tensor& grad, Tensor with, const std::string& where) {
  check<AutogradError>(!grad.defined() || !with.defined() ||
                           (with.shape() == grad.shape() && with.dtype() == grad.dtype()),
                       "a hook of ", where, " returned ", with.defined() ? describe(with) : "None",
                       ", expected ", grad.defined() ? describe(grad) : "None",
                       " like the gradient it replaces, or None for no change");
  grad = std::move(with);
}

void replace_all(std::vector<Tensor>& grads, std::vector<Tensor> with, const std::string& where) {
  if (with.empty()) return;
  check<AutogradError>(with.size() == grads.size(), "a hook of ", where, " returned ", with.size(),
                       " gradients, expected ", grads.size());
  for (size_t i = 0; i < grads.size(); ++i) replace(grads[i], std::move(with[i]), where);
}

}  // namespace

template <class Fn>
uint64_t Hooks::append(List<Fn>& list, int output_nr, Fn fn) {
  std::lock_guard lock(mutex_);
  list.push_back({++last_id_, output_nr, std::move(fn)});
  return last_id_;
}

template <class Fn>
Hooks::List<Fn> Hooks::copy_of(const List<Fn>& list) const {
  std::lock_guard lock(mutex_);
  return list;
}

uint64_t Hooks::add(int output_nr, TensorHook hook) {
  return append(tensor_, output_nr, std::move(hook));
}
uint64_t Hooks::add(NodePreHook hook) { return append(before_, 0, std::move(hook)); }
uint64_t Hooks::add(NodeHook hook) { return append(after_, 0, std::move(hook)); }
uint64_t Hooks::add(LeafHook hook) { return append(leaf_, 0, std::move(hook)); }

void Hooks::remove(uint64_t id) {
  // What a hook holds may be freed with it, and may take locks of its own: not under this one.
  const auto take = [&](auto& list, auto& taken) {
    const auto found = std::find_if(list.begin(), list.end(), [&](auto& e) { return e.id == id; });
    if (found == list.end()) return;
    taken.push_back(std::move(*found));
    list.erase(found);
  };
  List<TensorHook> tensor;
  List<NodePreHook> before;
  List<NodeHook> after;
  List<LeafHook> leaf;
  std::lock_guard lock(mutex_);
  take(tensor_, tensor);
  take(before_, before);
  take(after_, after);
  take(leaf_, leaf);
}

void Hooks::on_tensors(std::vector<Tensor>& grads, const std::string& where) const {
  for (const auto& entry : copy_of(tensor_)) {
    Tensor& grad = grads[entry.output_nr];
    if (!grad.defined()) continue;
    Tensor with = entry.fn(grad);
    if (with.defined()) replace(grad, std::move(with), where);
  }
}

void Hooks::before_rule(std::vector<Tensor>& grads, const std::string& where) const {
  for (const auto& entry : copy_of(before_)) replace_all(grads, entry.fn(grads), where);
}

void Hooks::after_rule(std::vector<Tensor>& results, const std::vector<Tensor>& grads,
                       const std::string& where) const {
  for (const auto& entry : copy_of(after_)) replace_all(results, entry.fn(results, grads), where);
}

void Hooks::on_leaf(const Tensor& leaf) const {
  for (const auto& entry : copy_of(leaf_)) entry.fn(leaf);
}

bool Hooks::wants_grads_after_rule() const {
  std::lock_guard lock(mutex_);
  return !after_.empty();
}

}  // namespace zoo
