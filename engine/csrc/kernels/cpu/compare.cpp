// Comparisons, predicates and selection: kernels that read or write bool.
#include "kernels/cpu/rows.h"
#include "kernels/pointwise.h"

// isnan is written x != x in the table.
#pragma GCC diagnostic ignored "-Wtautological-compare"

namespace zoo {
namespace {

template <class T>
ZOO_INLINE T load(const char* p) { return *reinterpret_cast<const T*>(p); }

#define ZOO_COMPARE(name, expression, doc)                                              \
  template <class C>                                                                    \
  void name##_row(bool* __restrict out, const C* const* in, int64_t n, double, double) { \
    for (int64_t i = 0; i < n; ++i) {                                                   \
      const C a = in[0][i], b = in[1][i];                                               \
      out[i] = expression;                                                              \
    }                                                                                   \
  }                                                                                     \
  void name##_cpu(const LoopPlan& plan, DType dtype) {                                  \
    visit_dtype(dtype, [&]<class T>() {                                                 \
      run_rows<bool, T, 2>(plan, &name##_row<ComputeType<T>>);                          \
    });                                                                                 \
  }
#define ZOO_PREDICATE(name, expression, doc)                                            \
  template <class C>                                                                    \
  void name##_row(bool* __restrict out, const C* const* in, int64_t n, double, double) { \
    for (int64_t i = 0; i < n; ++i) {                                                   \
      const C x = in[0][i];                                                             \
      out[i] = expression;                                                              \
    }                                                                                   \
  }                                                                                     \
  void name##_cpu(const LoopPlan& plan, DType dtype, double, double) {                  \
    visit_dtype(dtype, [&]<class T>() {                                                 \
      run_rows<bool, T, 1>(plan, &name##_row<ComputeType<T>>);                          \
    });                                                                                 \
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
