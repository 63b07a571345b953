// What tensors know of the tape: here, because core may not look at autograd.
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

const Ref<Node>& Tensor::grad_fn() const {
  static const Ref<Node> none;
  return impl_->meta ? impl_->meta->grad_fn : none;
}

Tensor Tensor::grad() const { return impl_->meta ? impl_->meta->grad : Tensor(); }

}  // namespace zoo
