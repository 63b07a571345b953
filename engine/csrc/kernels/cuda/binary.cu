// Binary pointwise kernels, comparisons, predicates and selection, from ops/pointwise.def.
#include "kernels/cpu/pointwise_math.h"
#include "kernels/cuda/elements.h"
#include "kernels/pointwise.h"

// isnan is written x != x in the table.
#pragma GCC diagnostic ignored "-Wtautological-compare"

namespace zoo::cuda {
namespace {

enum Domain { NUMBERS, FLOATS };

#define ZOO_BINARY(name, forward, grad_a, grad_b, saves, domain, doc)                     \
  struct name##_forward {                                                                 \
    template <class C>                                                                    \
    __device__ C operator()(C a_value, C b_value) const {                                 \
      const Num<C> a{a_value}, b{b_value};                                                \
      return (forward).v;                                                                 \
    }                                                                                     \
  };                                                                                      \
  void name##_cuda(const LoopPlan& plan, DType dtype) {                                   \
    const auto run = [&]<class C>() {                                                     \
      launch_pointwise<C, 2>(plan, dtype, dtype, name##_forward{});                       \
    };                                                                                    \
    if constexpr (domain == NUMBERS) {                                                    \
      visit_arithmetic(dtype, run);                                                       \
    } else {                                                                              \
      visit_floating_arithmetic(dtype, run);                                              \
    }                                                                                     \
  }
#define ZOO_BITWISE(name, expression, doc)                                                \
  struct name##_forward {                                                                 \
    template <class C>                                                                    \
    __device__ C operator()(C a, C b) const { return expression; }                        \
  };                                                                                      \
  void name##_cuda(const LoopPlan& plan, DType dtype) {                                   \
    if (is_unsigned(dtype) || is_bool(dtype)) {                                           \
      launch_pointwise<uint64_t, 2>(plan, dtype, dtype, name##_forward{});                \
    } else if (is_integral(dtype)) {                                                      \
      launch_pointwise<int64_t, 2>(plan, dtype, dtype, name##_forward{});                 \
    } else {                                                                              \
      no_kernel_for(dtype);                                                               \
    }                                                                                     \
  }
#define ZOO_COMPARE(name, expression, doc)                                                \
  struct name##_forward {                                                                 \
    template <class C>                                                                    \
    __device__ bool operator()(C a, C b) const { return expression; }                     \
  };                                                                                      \
  void name##_cuda(const LoopPlan& plan, DType dtype) {                                   \
    visit_arithmetic(dtype, [&]<class C>() {                                              \
      launch_pointwise<C, 2>(plan, DType::kBool, dtype, name##_forward{});                \
    });                                                                                   \
  }
#define ZOO_PREDICATE(name, expression, doc)                                              \
  struct name##_forward {                                                                 \
    template <class C>                                                                    \
    __device__ bool operator()(C x) const { return expression; }                          \
  };                                                                                      \
  void name##_cuda(const LoopPlan& plan, DType dtype, double, double) {                   \
    visit_arithmetic(dtype, [&]<class C>() {                                              \
      launch_pointwise<C, 1>(plan, DType::kBool, dtype, name##_forward{});                \
    });                                                                                   \
  }
#include "ops/pointwise.def"

template <class Bits>
__global__ void __launch_bounds__(kThreads) choose(const __grid_constant__ LoopPlan plan) {
  for (int64_t i = thread_index(); i < plan.numel; i += thread_count()) {
    int64_t offset[4];
    locate(plan, i, offset);
    const bool first = at<bool>(data_of(plan, 1) + offset[1]);
    const int from = first ? 2 : 3;
    put<Bits>(plan.data[0] + offset[0], at<Bits>(data_of(plan, from) + offset[from]));
  }
}

void where_cuda(const LoopPlan& plan, DType dtype) {
  if (plan.numel == 0) return;
  visit_bits(dtype, [&]<class Bits>() {
    ZOO_LAUNCH(choose<Bits>, blocks_for(plan.numel), kThreads, 0, plan);
  });
}

}  // namespace
}  // namespace zoo::cuda

#define ZOO_BINARY(name, ...) ZOO_REGISTER_CUDA(name##_kernel, &zoo::cuda::name##_cuda);
#define ZOO_BITWISE ZOO_BINARY
#define ZOO_COMPARE ZOO_BINARY
#define ZOO_PREDICATE ZOO_BINARY
#include "ops/pointwise.def"
ZOO_REGISTER_CUDA(where_kernel, &zoo::cuda::where_cuda);
