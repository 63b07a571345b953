// Copies between any two dtypes and layouts, and fills.
#include <cstring>

#include "kernels/cpu/convert.h"
#include "kernels/cuda/elements.h"
#include "kernels/pointwise.h"

namespace zoo::cuda {
namespace {

template <class Bits>
__global__ void __launch_bounds__(kThreads) move(const __grid_constant__ LoopPlan plan) {
  for (int64_t i = thread_index(); i < plan.numel; i += thread_count()) {
    int64_t offset[2];
    locate(plan, i, offset);
    put<Bits>(plan.data[0] + offset[0], at<Bits>(data_of(plan, 1) + offset[1]));
  }
}

template <class C>
__device__ void write_converted(void* p, DType to, C v) {
  switch (to) {
    case DType::kBool: return put<bool>(p, convert<bool>(v));
    case DType::kU8: return put<uint8_t>(p, convert<uint8_t>(v));
    case DType::kI8: return put<int8_t>(p, convert<int8_t>(v));
    case DType::kU16: return put<uint16_t>(p, convert<uint16_t>(v));
    case DType::kI16: return put<int16_t>(p, convert<int16_t>(v));
    case DType::kU32: return put<uint32_t>(p, convert<uint32_t>(v));
    case DType::kI32: return put<int32_t>(p, convert<int32_t>(v));
    case DType::kU64: return put<uint64_t>(p, convert<uint64_t>(v));
    case DType::kI64: return put<int64_t>(p, convert<int64_t>(v));
    case DType::kF16: return put<Half>(p, convert<Half>(v));
    case DType::kBF16: return put<BFloat16>(p, convert<BFloat16>(v));
    case DType::kF32: return put<float>(p, convert<float>(v));
    default: return put<double>(p, convert<double>(v));
  }
}

template <class C>
__global__ void __launch_bounds__(kThreads)
    convert_elements(const __grid_constant__ LoopPlan plan, DType to, DType from) {
  for (int64_t i = thread_index(); i < plan.numel; i += thread_count()) {
    int64_t offset[2];
    locate(plan, i, offset);
    write_converted(plan.data[0] + offset[0], to,
                    read_element<C>(data_of(plan, 1) + offset[1], from));
  }
}

void copy_cuda(const LoopPlan& plan, DType to, DType from) {
  if (plan.numel == 0) return;
  const unsigned blocks = blocks_for(plan.numel);
  if (to != from) {
    visit_arithmetic(from, [&]<class C>() {
      ZOO_LAUNCH(convert_elements<C>, blocks, kThreads, 0, plan, to, from);
    });
    return;
  }
  const int64_t size = itemsize(to);
  if (plan.ndim == 1 && plan.strides[0][0] == size && plan.strides[1][0] == size &&
      !plan.constant[1]) {
    check(cudaMemcpyAsync(plan.data[0], plan.data[1], static_cast<size_t>(plan.numel * size),
                          cudaMemcpyDeviceToDevice, stream()),
          "a copy");
    return;
  }
  visit_bits(to, [&]<class Bits>() { ZOO_LAUNCH(move<Bits>, blocks, kThreads, 0, plan); });
}

template <class Bits>
__global__ void __launch_bounds__(kThreads) fill(const __grid_constant__ LoopPlan plan, Bits value) {
  for (int64_t i = thread_index(); i < plan.numel; i += thread_count()) {
    int64_t offset[1];
    locate(plan, i, offset);
    put<Bits>(plan.data[0] + offset[0], value);
  }
}

void fill_cuda(const LoopPlan& plan, DType dtype, const void* value) {
  if (plan.numel == 0) return;
  visit_bits(dtype, [&]<class Bits>() {
    Bits bits;
    std::memcpy(&bits, value, sizeof bits);
    ZOO_LAUNCH(fill<Bits>, blocks_for(plan.numel), kThreads, 0, plan, bits);
  });
}

}  // namespace
}  // namespace zoo::cuda

ZOO_REGISTER_CUDA(copy_kernel, &zoo::cuda::copy_cuda);
ZOO_REGISTER_CUDA(fill_kernel, &zoo::cuda::fill_cuda);
