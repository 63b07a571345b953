// How pointwise kernels read, write and find elements. Kernels are compiled per kind of arithmetic
// (float, double, signed and unsigned integers), not per dtype: which dtype an operand has is looked
// up when an element is read, by all threads alike, which costs nothing beside the memory. That keeps
// the library small and quick to build.
#pragma once

#include "core/dtype.h"
#include "core/loop.h"
#include "kernels/cuda/launch.h"

namespace zoo::cuda {

// Calls f with the type in which arithmetic on `dtype` happens here.
template <class F>
inline void visit_arithmetic(DType dtype, F f) {
  if (dtype == DType::kF64) {
    f.template operator()<double>();
  } else if (is_floating(dtype)) {
    f.template operator()<float>();
  } else if (is_unsigned(dtype) || is_bool(dtype)) {
    f.template operator()<uint64_t>();
  } else if (is_integral(dtype)) {
    f.template operator()<int64_t>();
  } else {
    no_kernel_for(dtype);
  }
}
template <class F>
inline void visit_floating_arithmetic(DType dtype, F f) {
  if (dtype == DType::kF64) {
    f.template operator()<double>();
  } else if (is_floating(dtype)) {
    f.template operator()<float>();
  } else {
    no_kernel_for(dtype);
  }
}

template <class T>
__device__ inline T at(const void* p) { return *static_cast<const T*>(p); }

template <class C>
__device__ inline C read_element(const void* p, DType dtype) {
  if constexpr (std::is_same_v<C, double>) {
    return at<double>(p);
  } else if constexpr (std::is_same_v<C, float>) {
    if (dtype == DType::kF32) return at<float>(p);
    return dtype == DType::kF16 ? static_cast<float>(at<Half>(p)) : static_cast<float>(at<BFloat16>(p));
  } else if constexpr (std::is_same_v<C, int64_t>) {
    switch (dtype) {
      case DType::kI8: return at<int8_t>(p);
      case DType::kI16: return at<int16_t>(p);
      case DType::kI32: return at<int32_t>(p);
      default: return at<int64_t>(p);
    }
  } else {
    switch (dtype) {
      case DType::kBool: return at<bool>(p) ? 1 : 0;
      case DType::kU8: return at<uint8_t>(p);
      case DType::kU16: return at<uint16_t>(p);
      case DType::kU32: return at<uint32_t>(p);
      default: return at<uint64_t>(p);
    }
  }
}

template <class T, class V>
__device__ inline void put(void* p, V v) { *static_cast<T*>(p) = static_cast<T>(v); }

// Of the kind of arithmetic that `dtype` has, or a bool.
template <class C>
__device__ inline void write_element(void* p, DType dtype, C v) {
  if constexpr (std::is_same_v<C, bool>) {
    put<bool>(p, v);
  } else if constexpr (std::is_same_v<C, double>) {
    put<double>(p, v);
  } else if constexpr (std::is_same_v<C, float>) {
    if (dtype == DType::kF32) return put<float>(p, v);
    if (dtype == DType::kF16) return put<Half>(p, v);
    put<BFloat16>(p, v);
  } else if constexpr (std::is_same_v<C, int64_t>) {
    switch (dtype) {
      case DType::kI8: return put<int8_t>(p, v);
      case DType::kI16: return put<int16_t>(p, v);
      case DType::kI32: return put<int32_t>(p, v);
      default: return put<int64_t>(p, v);
    }
  } else {
    switch (dtype) {
      case DType::kBool: return put<bool>(p, v != 0);
      case DType::kU8: return put<uint8_t>(p, v);
      case DType::kU16: return put<uint16_t>(p, v);
      case DType::kU32: return put<uint32_t>(p, v);
      default: return put<uint64_t>(p, v);
    }
  }
}

// Elements side by side, of a dtype whose arithmetic is C; none where data is null.
template <class C>
class Elements {
 public:
  Elements(const void* data, DType dtype)
      : data_(static_cast<char*>(const_cast<void*>(data))), dtype_(dtype), size_(itemsize(dtype)) {}
  ZOO_HOST_DEVICE bool defined() const { return data_ != nullptr; }
  __device__ C operator[](int64_t i) const { return read_element<C>(data_ + i * size_, dtype_); }
  __device__ void set(int64_t i, C v) const { write_element(data_ + i * size_, dtype_, v); }
  __device__ Elements from(int64_t first) const {
    Elements e = *this;
    e.data_ += first * size_;
    return e;
  }

 private:
  char* data_;
  DType dtype_;
  int64_t size_;
};

// Bytes from each operand's data to its element i, in the order of the walk.
template <int N>
__device__ inline void locate(const LoopPlan& plan, int64_t i, int64_t (&offset)[N]) {
  if (plan.ndim == 1) {
    for (int o = 0; o < N; ++o) offset[o] = i * plan.strides[o][0];
    return;
  }
  for (int o = 0; o < N; ++o) offset[o] = 0;
  if (plan.numel <= 0x7fffffff) {  // division of 32 bits takes a fifth of that of 64
    uint32_t rest = static_cast<uint32_t>(i);
    for (int d = 0; d < plan.ndim; ++d) {
      const uint32_t size = static_cast<uint32_t>(plan.shape[d]);
      const int64_t index = rest % size;
      rest /= size;
      for (int o = 0; o < N; ++o) offset[o] += index * plan.strides[o][d];
    }
    return;
  }
  int64_t rest = i;
  for (int d = 0; d < plan.ndim; ++d) {
    const int64_t index = rest % plan.shape[d];
    rest /= plan.shape[d];
    for (int o = 0; o < N; ++o) offset[o] += index * plan.strides[o][d];
  }
}

// The data of an operand: in the device's memory, or one element that came with the plan.
__device__ inline const char* data_of(const LoopPlan& plan, int o) {
  return plan.constant[o] ? reinterpret_cast<const char*>(&plan.value[o]) : plan.data[o];
}

// out = f(operands), element by element: the operands are of one dtype, of the arithmetic C.
template <class C, int kInputs, class F>
__global__ void __launch_bounds__(kThreads)
    pointwise(const __grid_constant__ LoopPlan plan, DType out, DType in, F f) {
  for (int64_t i = thread_index(); i < plan.numel; i += thread_count()) {
    int64_t offset[1 + kInputs];
    locate(plan, i, offset);
    const auto operand = [&](int o) { return read_element<C>(data_of(plan, o) + offset[o], in); };
    char* const to = plan.data[0] + offset[0];
    if constexpr (kInputs == 1) {
      write_element(to, out, f(operand(1)));
    } else if constexpr (kInputs == 2) {
      write_element(to, out, f(operand(1), operand(2)));
    } else {
      write_element(to, out, f(operand(1), operand(2), operand(3)));
    }
  }
}

template <class C, int kInputs, class F>
void launch_pointwise(const LoopPlan& plan, DType out, DType in, F f) {
  if (plan.numel == 0) return;
  ZOO_LAUNCH((pointwise<C, kInputs, F>), blocks_for(plan.numel), kThreads, 0, plan, out, in, f);
}

}  // namespace zoo::cuda
