// A tensor: shape, strides and offset over storage that views share.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>

#include "core/allocator.h"
#include "core/device.h"
#include "core/dims.h"
#include "core/dtype.h"
#include "core/ref.h"

namespace zoo {

class Node;          // autograd/node.h
class AccumulateGrad;
class TensorImpl;

// Memory that tensors share. `version` counts in-place changes made through any of them, which is
// how backward notices that a saved tensor no longer holds what it held.
class Storage : public RefCounted {
 public:
  Storage(size_t bytes, Device device);
  // Memory that something else owns, such as a numpy array; `free` runs when the last tensor goes.
  Storage(void* data, size_t bytes, Device device, bool read_only, std::function<void()> free);
  ~Storage() override;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  bool read_only() const { return read_only_; }
  uint32_t version() const { return version_.load(std::memory_order_acquire); }
  void bump_version() { version_.fetch_add(1, std::memory_order_acq_rel); }
  // Whether something besides tensors can write to the memory: the version does not count that.
  bool exposed() const { return exposed_.load(std::memory_order_acquire); }
  void expose() { exposed_.store(!read_only_, std::memory_order_release); }
  // Whoever else could write to it has promised not to.
  void conceal() { exposed_.store(false, std::memory_order_release); }

  // A copy in another order that goes when the memory goes; ops/packed.cpp guards it.
  Ref<RefCounted> packed;

 private:
  void* data_;
  size_t bytes_;
  Device device_;
  bool read_only_ = false;
  std::atomic<bool> exposed_{false};
  std::atomic<uint32_t> version_{0};
  std::function<void()> free_;
};

enum class MemoryFormat { kContiguous, kChannelsLast };

// A handle; copies share the tensor. A default-constructed one is undefined ("no tensor").
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(TensorImpl* impl);
  explicit Tensor(Ref<TensorImpl> impl);
  Tensor(const Tensor&);
  Tensor(Tensor&&) noexcept;
  Tensor& operator=(const Tensor&);
  Tensor& operator=(Tensor&&) noexcept;
  ~Tensor();

  bool defined() const { return static_cast<bool>(impl_); }
  TensorImpl* impl() const { return impl_.get(); }
  const Ref<TensorImpl>& ref() const { return impl_; }

  const Dims& shape() const;
  const Dims& strides() const;  // in elements
  int64_t size(int axis) const;  // accepts negative axes
  int ndim() const;
  int64_t numel() const;
  int64_t offset() const;
  DType dtype() const;
  Device device() const;
  const Ref<Storage>& storage() const;
  template <class T = void>
  T* data() const {
    return static_cast<T*>(raw_data());
  }

  bool is_contiguous(MemoryFormat format = MemoryFormat::kContiguous) const;
  // No gaps and no overlap, in any order of axes.
  bool is_dense() const;
  bool same_impl(const Tensor& other) const { return impl_ == other.impl_; }

  bool requires_grad() const;
  const Ref<Node>& grad_fn() const;
  Tensor grad() const;

 private:
  void* raw_data() const;
  Ref<TensorImpl> impl_;
};

// Defined in autograd/meta.cpp, as are the functions of Tensor and TensorImpl that touch it.
struct AutogradMeta {
  AutogradMeta();
  ~AutogradMeta();

  bool requires_grad = false;  // set on leaves only; others have a grad_fn
  Ref<Node> grad_fn;
  int output_nr = 0;
  Tensor grad;
  Ref<AccumulateGrad> accumulator;  // leaves only; it does not own the tensor
};

class TensorImpl : public RefCounted {
 public:
  TensorImpl(Ref<Storage> storage, DType dtype, Dims shape, Dims strides, int64_t offset);
  ~TensorImpl() override;

  AutogradMeta& autograd();  // made when first asked for

  Ref<Storage> storage;
  DType dtype;
  bool is_view = false;
  Dims shape;
  Dims strides;
  int64_t offset;
  std::unique_ptr<AutogradMeta> meta;

  // A view made while operations are recorded knows the tensor whose memory it shows, so that an
  // in-place change of either reaches the other's gradient. `history` counts the recorded changes
  // of a base, `base_history` says which of them the view's grad_fn has seen.
  Ref<TensorImpl> base;
  uint32_t history = 0, base_history = 0;
};

// Of a view: takes on what was done in place to the tensor it shows. Defined in autograd/meta.cpp.
void see_changes_of_base(TensorImpl& view);

// Every operation goes through these many times: they are worth being inline.
inline Tensor::Tensor(TensorImpl* impl) : impl_(impl) {}
inline Tensor::Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}
inline Tensor::Tensor(const Tensor&) = default;
inline Tensor::Tensor(Tensor&&) noexcept = default;
inline Tensor& Tensor::operator=(const Tensor&) = default;
inline Tensor& Tensor::operator=(Tensor&&) noexcept = default;
inline Tensor::~Tensor() = default;
inline const Dims& Tensor::shape() const { return impl_->shape; }
inline const Dims& Tensor::strides() const { return impl_->strides; }
inline int Tensor::ndim() const { return impl_->shape.size(); }
inline int64_t Tensor::numel() const { return impl_->shape.product(); }
inline int64_t Tensor::offset() const { return impl_->offset; }
inline DType Tensor::dtype() const { return impl_->dtype; }
inline Device Tensor::device() const { return impl_->storage->device(); }
inline const Ref<Storage>& Tensor::storage() const { return impl_->storage; }
inline void* Tensor::raw_data() const {
  return static_cast<char*>(impl_->storage->data()) + impl_->offset * itemsize(impl_->dtype);
}
inline bool Tensor::requires_grad() const {
  if (impl_->base) see_changes_of_base(*impl_);
  const auto& meta = impl_->meta;
  return meta && (meta->requires_grad || meta->grad_fn);
}

// Uninitialised memory, contiguous or with the given (dense) strides.
Tensor empty(const Dims& shape, DType dtype, Device device = {});
Tensor empty_strided(const Dims& shape, const Dims& strides, DType dtype, Device device = {});
// Same shape and memory order as `like`.
Tensor empty_like(const Tensor& like);
Tensor empty_like(const Tensor& like, DType dtype);
// Shares storage and version; no gradient flows through it.
Tensor alias(const Tensor& t, const Dims& shape, const Dims& strides, int64_t offset);
Tensor alias(const Tensor& t);

// A single number in the host's memory: it may meet tensors of any device, whose kernels are given
// its value.
bool is_host_number(const Tensor& t);
// The device that all operands are on but those that are single numbers of the host; undefined ones
// do not count. Throws ValueError that names `op` and two devices where they differ.
Device common_device(const char* op, std::initializer_list<const Tensor*> operands);

// "float32 (2, 3)", "float32 (2, 3) on cuda:0" or "None", for messages; made when one needs it.
class TensorText {
 public:
  explicit TensorText(const Tensor& t) : tensor_(t) {}
  operator std::string() const;  // NOLINT: implicit, as it stands for the string
  friend std::ostream& operator<<(std::ostream& out, const TensorText& text);

 private:
  const Tensor& tensor_;
};
inline TensorText describe(const Tensor& t) { return TensorText(t); }

}  // namespace zoo
