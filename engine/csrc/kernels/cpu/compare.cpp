// Comparisons, predicates and selection: kernels that read or write bool.
#include "kernels/cpu/loop.h"
#include "kernels/cpu/pointwise_math.h"
#include "kernels/pointwise.h"

// isnan is written x != x in the table.
#pragma GCC diagnostic ignored "-Wtautological-compare"

namespace zoo {
namespace {

template <class T>
ZOO_INLINE T load(const char* p) { return *reinterpret_cast<const T*>(p); }

template <class T, class F>
ZOO_INLINE void compare_loop(const LoopPlan& plan, F f) {
  using C = ComputeType<T>;
  run_loop(plan, [f](char* const* data, const int64_t* strides, int64_t n) {
    if (strides[0] == 1 && strides[1] == sizeof(T) && strides[2] == sizeof(T)) {
      bool* __restrict out = reinterpret_cast<bool*>(data[0]);
      const T* a = reinterpret_cast<const T*>(data[1]);
      const T* b = reinterpret_cast<const T*>(data[2]);
      for (int64_t i = 0; i < n; ++i) out[i] = f(C(a[i]), C(b[i]));
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      *reinterpret_cast<bool*>(data[0] + i * strides[0]) =
          f(C(load<T>(data[1] + i * strides[1])), C(load<T>(data[2] + i * strides[2])));
    }
  });
}

template <class T, class F>
ZOO_INLINE void predicate_loop(const LoopPlan& plan, F f) {
  using C = ComputeType<T>;
  run_loop(plan, [f](char* const* data, const int64_t* strides, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      *reinterpret_cast<bool*>(data[0] + i * strides[0]) =
          f(C(load<T>(data[1] + i * strides[1])));
    }
  });
}

#define ZOO_COMPARE(name, expression, doc)                                        \
  void name##_cpu(const LoopPlan& plan, DType dtype) {                            \
    visit_dtype(dtype, [&]<class T>() {                                           \
      using C = ComputeType<T>;                                                   \
      compare_loop<T>(plan, [](C a, C b) -> bool { return expression; });         \
    });                                                                           \
  }
#define ZOO_PREDICATE(name, expression, doc)                                      \
  void name##_cpu(const LoopPlan& plan, DType dtype, double, double) {            \
    visit_dtype(dtype, [&]<class T>() {                                           \
      using C = ComputeType<T>;                                                   \
      predicate_loop<T>(plan, [](C x) -> bool { return expression; });            \
    });                                                                           \
  }
#include "ops/pointwise.def"

template <class Bits>
void where_bits(const LoopPlan& plan) {
  run_loop(plan, [](char* const* data, const int64_t* strides, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const bool c = load<bool>(data[1] + i * strides[1]);
      const Bits a = load<Bits>(data[2] + i * strides[2]);
      const Bits b = load<Bits>(data[3] + i * strides[3]);
      *reinterpret_cast<Bits*>(data[0] + i * strides[0]) = c ? a : b;
    }
  });
}

void where_cpu(const LoopPlan& plan, DType dtype) {
  visit_bits(dtype, [&]<class Bits>() { where_bits<Bits>(plan); });
}

}  // namespace

#define ZOO_COMPARE(name, ...) ZOO_REGISTER_CPU(name##_kernel, &name##_cpu);
#define ZOO_PREDICATE ZOO_COMPARE
#include "ops/pointwise.def"
ZOO_REGISTER_CPU(where_kernel, &where_cpu);

}  // namespace zoo
