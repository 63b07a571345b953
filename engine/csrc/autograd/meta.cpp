// What tensors know of the tape: here, because core may not look at autograd.
#include "autograd/arithmetic.h"
#include "autograd/node.h"

namespace zoo {

AutogradMeta::AutogradMeta() = default;
AutogradMeta::~AutogradMeta() = default;

AutogradMeta& TensorImpl::autograd() {
  if (!meta) meta = std::make_unique<AutogradMeta>();
  return *meta;
}

TensorImpl::~TensorImpl() {
  if (meta && meta->accumulator) meta->accumulator->forget_leaf();
}

void see_changes_of_base(TensorImpl& t) {
  if (t.base_history != t.base->history) [[unlikely]] refresh_view(t);
}

const Ref<Node>& Tensor::grad_fn() const {
  static const Ref<Node> none;
  if (impl_->base) see_changes_of_base(*impl_);
  return impl_->meta ? impl_->meta->grad_fn : none;
}

Tensor Tensor::grad() const { return impl_->meta ? impl_->meta->grad : Tensor(); }

}  // namespace zoo
