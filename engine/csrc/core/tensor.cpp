#include "core/tensor.h"

#include <algorithm>

#include "core/backend.h"

namespace zoo {

Storage::Storage(size_t bytes, Device device)
    : data_(device.type == DeviceType::kCPU ? allocate(bytes)
                                            : backend().allocate(bytes, device.index)),
      bytes_(bytes),
      device_(device) {}

Storage::Storage(void* data, size_t bytes, Device device, bool read_only,
                 std::function<void()> free)
    : data_(data), bytes_(bytes), device_(device), read_only_(read_only), exposed_(!read_only),
      free_(std::move(free)) {}

Storage::~Storage() {
  if (free_) {
    free_();
  } else if (device_.type == DeviceType::kCPU) {
    deallocate(data_, bytes_);
  } else {
    backend().deallocate(data_, bytes_, device_.index);
  }
}

TensorImpl::TensorImpl(Ref<Storage> storage, DType dtype, Dims shape, Dims strides, int64_t offset)
    : storage(std::move(storage)), dtype(dtype), shape(shape), strides(strides), offset(offset) {}

int64_t Tensor::size(int axis) const {
  return impl_->shape[normalize_axis("size", axis, impl_->shape.size())];
}

namespace {

bool has_strides(const Dims& shape, const Dims& strides, const Dims& expected) {
  for (int i = 0; i < shape.size(); ++i) {
    // The stride of a single element is never used; neither is any stride of an empty tensor.
    if (shape[i] > 1 && strides[i] != expected[i]) return false;
  }
  return true;
}

}  // namespace

bool Tensor::is_contiguous(MemoryFormat format) const {
  if (numel() == 0) return true;
  if (format == MemoryFormat::kContiguous) {
    return has_strides(shape(), strides(), contiguous_strides(shape()));
  }
  if (ndim() != 4) return false;
  const Dims& s = shape();
  return has_strides(s, strides(), {s[1] * s[2] * s[3], 1, s[1] * s[3], s[1]});
}

bool Tensor::is_dense() const {
  return numel() == 0 || has_strides(shape(), strides(), dense_strides_like(shape(), strides()));
}

Tensor empty_strided(const Dims& shape, const Dims& strides, DType dtype, Device device) {
  if (device.type != DeviceType::kCPU) [[unlikely]] {
    check_device(device);
    use_device(device);
  }
  int64_t count = 1;
  for (int64_t d : shape) {
    check(d >= 0, "a shape holds no negative sizes, got ", to_string(shape));
    check(!__builtin_mul_overflow(count, d, &count), "shape ", to_string(shape), " is too large");
  }
  int64_t bytes = 0;
  check(!__builtin_mul_overflow(count, itemsize(dtype), &bytes), "shape ", to_string(shape),
        " is too large");
  auto storage = make_ref<Storage>(static_cast<size_t>(bytes), device);
  return Tensor(make_ref<TensorImpl>(std::move(storage), dtype, shape, strides, 0));
}

Tensor empty(const Dims& shape, DType dtype, Device device) {
  return empty_strided(shape, contiguous_strides(shape), dtype, device);
}

Tensor empty_like(const Tensor& like, DType dtype) {
  return empty_strided(like.shape(), dense_strides_like(like.shape(), like.strides()), dtype,
                       like.device());
}

Tensor empty_like(const Tensor& like) { return empty_like(like, like.dtype()); }

Tensor alias(const Tensor& t, const Dims& shape, const Dims& strides, int64_t offset) {
  return Tensor(make_ref<TensorImpl>(t.storage(), t.dtype(), shape, strides, offset));
}

Tensor alias(const Tensor& t) { return alias(t, t.shape(), t.strides(), t.offset()); }

TensorText::operator std::string() const { return concat_text(*this); }

std::ostream& operator<<(std::ostream& out, const TensorText& text) {
  if (!text.tensor_.defined()) return out << "None";
  out << dtype_name(text.tensor_.dtype()) << ' ' << to_string(text.tensor_.shape());
  const Device device = text.tensor_.device();
  return device.type == DeviceType::kCPU ? out : out << " on " << device_text(device);
}

bool is_host_number(const Tensor& t) {
  return t.ndim() == 0 && t.device().type == DeviceType::kCPU;
}

Device common_device(const char* op, std::initializer_list<const Tensor*> operands) {
  const Tensor* decides = nullptr;
  for (const Tensor* t : operands) {
    if (!t->defined()) continue;
    if (decides == nullptr || (is_host_number(*decides) && !is_host_number(*t))) decides = t;
  }
  const Device device = decides->device();
  for (const Tensor* t : operands) {
    if (!t->defined() || t->device() == device || is_host_number(*t)) continue;
    throw ValueError(concat_text(op, ": operands are on devices '", device_text(device), "' and '",
                                 device_text(t->device()), "'; move one with .to(device)"));
  }
  return device;
}

}  // namespace zoo
