// Copies between any two dtypes and layouts, and fills.
#include <cstring>

#include "kernels/cpu/convert.h"
#include "kernels/cpu/loop.h"
#include "kernels/pointwise.h"

namespace zoo {
namespace {

template <class Bits>
void copy_bits(const LoopPlan& plan) {
  run_loop(plan, [](char* const* data, const int64_t* strides, int64_t n) {
    if (strides[0] == sizeof(Bits) && strides[1] == sizeof(Bits)) {
      std::memmove(data[0], data[1], static_cast<size_t>(n) * sizeof(Bits));
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      *reinterpret_cast<Bits*>(data[0] + i * strides[0]) =
          *reinterpret_cast<const Bits*>(data[1] + i * strides[1]);
    }
  });
}

template <class To, class From>
void convert_loop(const LoopPlan& plan) {
  run_loop(plan, [](char* const* data, const int64_t* strides, int64_t n) {
    if (strides[0] == sizeof(To) && strides[1] == sizeof(From)) {
      To* __restrict out = reinterpret_cast<To*>(data[0]);
      const From* x = reinterpret_cast<const From*>(data[1]);
      for (int64_t i = 0; i < n; ++i) out[i] = convert<To>(x[i]);
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      *reinterpret_cast<To*>(data[0] + i * strides[0]) =
          convert<To>(*reinterpret_cast<const From*>(data[1] + i * strides[1]));
    }
  });
}

void copy_cpu(const LoopPlan& plan, DType to, DType from) {
  if (to == from) {
    visit_bits(to, [&]<class Bits>() { copy_bits<Bits>(plan); });
    return;
  }
  visit_dtype(to, [&]<class To>() {
    visit_dtype(from, [&]<class From>() {
      if constexpr (!std::is_same_v<To, From>) convert_loop<To, From>(plan);
    });
  });
}

template <class Bits>
void fill_bits(const LoopPlan& plan, const void* value) {
  Bits bits;
  std::memcpy(&bits, value, sizeof bits);
  run_loop(plan, [bits](char* const* data, const int64_t* strides, int64_t n) {
    if (strides[0] == sizeof(Bits)) {
      Bits* out = reinterpret_cast<Bits*>(data[0]);
      for (int64_t i = 0; i < n; ++i) out[i] = bits;
      return;
    }
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<Bits*>(data[0] + i * strides[0]) = bits;
  });
}

void fill_cpu(const LoopPlan& plan, DType dtype, const void* value) {
  visit_bits(dtype, [&]<class Bits>() { fill_bits<Bits>(plan, value); });
}

}  // namespace

ZOO_REGISTER_CPU(copy_kernel, &copy_cpu);
ZOO_REGISTER_CPU(fill_kernel, &fill_cpu);

}  // namespace zoo
