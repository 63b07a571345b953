// Cross-entropy along columns.
#include "kernels/head_loss.h"

#include "kernels/cpu/simd.h"

namespace zoo {
namespace {

// Columns that are summed together: their sums stay in registers while the rows pass.
template <class T>
constexpr int64_t kWide = 4 * kLanes<T>;

template <class T, class V, int kVectors>
ZOO_INLINE void sums_of(const T* x, int64_t rows, int64_t stride, int64_t lanes, int64_t column,
                        const ColumnSums& sums) {
  V top[kVectors], total[kVectors], plain[kVectors];
  unrolled<kVectors>([&](auto v) ZOO_ALWAYS {
    top[v] = V{} - std::numeric_limits<T>::infinity();
    total[v] = plain[v] = V{};
  });
  for (int64_t r = 0; r < rows; ++r) {
    unrolled<kVectors>([&](auto v) ZOO_ALWAYS {
      const V a = load<V>(x + r * stride + v * lanes);
      top[v] = a > top[v] ? a : top[v];
      plain[v] += a;
    });
  }
  for (int64_t r = 0; r < rows; ++r) {
    unrolled<kVectors>([&](auto v) ZOO_ALWAYS {
      total[v] += exp_of(load<V>(x + r * stride + v * lanes) - top[v]);
    });
  }
  unrolled<kVectors>([&](auto v) ZOO_ALWAYS {
    T a[64 / sizeof(T)], b[64 / sizeof(T)], c[64 / sizeof(T)];
    store(a, top[v]);
    store(b, total[v]);
    store(c, plain[v]);
    for (int64_t i = 0; i < lanes; ++i) {
      sums.top[column + v * lanes + i] = static_cast<double>(a[i]);
      sums.exponentials[column + v * lanes + i] = static_cast<double>(b[i]);
      sums.plain[column + v * lanes + i] = static_cast<double>(c[i]);
    }
  });
}

template <class T>
void column_sums(const T* x, int64_t rows, int64_t tokens, const ColumnSums& sums) {
  int64_t i = 0;
  for (; i + kWide<T> <= tokens; i += kWide<T>) {
    sums_of<T, Vector<T>, 4>(x + i, rows, tokens, kLanes<T>, i, sums);
  }
  for (; i + kLanes<T> <= tokens; i += kLanes<T>) {
    sums_of<T, Vector<T>, 1>(x + i, rows, tokens, kLanes<T>, i, sums);
  }
  for (; i < tokens; ++i) sums_of<T, T, 1>(x + i, rows, tokens, 1, i, sums);
}

template <class T>
void column_grads(T* x, int64_t rows, int64_t tokens, const ColumnScales& s) {
  // In T, side by side, so that rows can be walked along.
  constexpr int64_t kPart = 64;
  for (int64_t first = 0; first < tokens; first += kPart) {
    const int64_t n = tokens - first < kPart ? tokens - first : kPart;
    T log_sum[kPart], factor[kPart], each[kPart];
    for (int64_t i = 0; i < n; ++i) {
      log_sum[i] = static_cast<T>(s.log_sum[first + i]);
      factor[i] = static_cast<T>(s.factor[first + i]);
      each[i] = static_cast<T>(s.each[first + i]);
    }
    for (int64_t r = 0; r < rows; ++r) {
      T* row = x + r * tokens + first;
      along<T>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::type;
        const V f = load<V>(factor + i);
        const V p = exp_of(load<V>(row + i) - load<V>(log_sum + i)) * f - load<V>(each + i);
        store(row + i, f == T(0) ? V{} : p);  // ignored tokens may hold anything
      });
    }
  }
}

void column_sums_cpu(DType dtype, const void* logits, int64_t classes, int64_t tokens,
                     const ColumnSums& sums) {
  if (dtype == DType::kF64) {
    column_sums(static_cast<const double*>(logits), classes, tokens, sums);
  } else {
    column_sums(static_cast<const float*>(logits), classes, tokens, sums);
  }
}

void column_grads_cpu(DType dtype, void* logits, int64_t classes, int64_t tokens,
                      const ColumnScales& scales) {
  if (dtype == DType::kF64) {
    column_grads(static_cast<double*>(logits), classes, tokens, scales);
  } else {
    column_grads(static_cast<float*>(logits), classes, tokens, scales);
  }
}

}  // namespace

ZOO_REGISTER_CPU(column_sums_kernel, &column_sums_cpu);
ZOO_REGISTER_CPU(column_grads_kernel, &column_grads_cpu);

}  // namespace zoo
