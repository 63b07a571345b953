// Products with few rows or few columns read one large matrix once, so they run at the speed of
// memory: no packing, one pass. Internal to the file that includes it.
#pragma once

#include "kernels/cpu/gemm_driver.h"
#include "kernels/cpu/simd.h"
#include "kernels/gemm.h"

namespace zoo {
namespace {

// Few rows against rows of B^T (a linear layer on a few tokens), or few columns.
constexpr int64_t kFewRows = 8;
constexpr int64_t kFewColumns = 4;

ZOO_INLINE bool is_skinny(const GemmArgs& g) {
  if (g.k == 0) return false;
  return (g.m <= kFewRows && (g.b_row == 1 || g.b_col == 1)) ||
         (g.n <= kFewColumns && g.a_col == 1);
}

template <class T>
ZOO_INLINE void finish_one(const Output<T>& out, int64_t offset, int64_t column, T value) {
  if (out.accumulate) value += out.c[offset + column];
  if (out.bias != nullptr) value += out.bias[column];
  if (out.relu) value = value < T{0} ? T{0} : value;
  out.c[offset + column] = value;
}

// kR x kC dot products of contiguous rows.
template <class T, int kR, int kC>
[[gnu::noinline]] void dots(int64_t k, const T* a, int64_t a_stride, const T* b, int64_t b_stride,
                            T (&result)[kR][kC]) {
  using V = Vector<T>;
  constexpr int64_t kL = kLanes<T>;
  V acc[kR][kC] = {};
  int64_t p = 0;
  const auto step = [&](auto read) {
    V x[kR];
    for (int r = 0; r < kR; ++r) x[r] = read(a + r * a_stride + p);
    for (int c = 0; c < kC; ++c) {
      const V y = read(b + c * b_stride + p);
      for (int r = 0; r < kR; ++r) acc[r][c] += x[r] * y;
    }
  };
  for (; p + kL <= k; p += kL) step([](const T* from) { return load<V>(from); });
  if (p < k) step([&](const T* from) { return load_first<V>(from, k - p); });
  for (int r = 0; r < kR; ++r) {
    for (int c = 0; c < kC; ++c) result[r][c] = sum_lanes<T>(acc[r][c]);
  }
}

// C's element for row i of `a` and row j of `b` is at offset i * i_step + j * j_step.
template <class T, int kR, int kC>
ZOO_INLINE void dot_tile(int64_t k, const T* a, int64_t a_stride, const T* b, int64_t b_stride,
                         const Output<T>& out, int64_t c_row, int64_t row, int64_t column) {
  T result[kR][kC];
  dots<T, kR, kC>(k, a, a_stride, b, b_stride, result);
  for (int r = 0; r < kR; ++r) {
    for (int c = 0; c < kC; ++c) finish_one(out, (row + r) * c_row, column + c, result[r][c]);
  }
}

// C = A B with the rows of A and the columns of B contiguous.
template <class T>
void dot_product(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_stride, const T* b,
                 int64_t b_stride, const Output<T>& out, int64_t c_row) {
  constexpr int kB = 4;
  const auto block = [&](int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
    for (int64_t j = j0; j < j1;) {
      const bool wide = j1 - j >= kB;
      for (int64_t i = i0; i < i1;) {
        const T* x = a + i * a_stride;
        const T* y = b + j * b_stride;
        const auto run = [&]<int kR, int kC>() {
          dot_tile<T, kR, kC>(k, x, a_stride, y, b_stride, out, c_row, i, j);
          i += kR;
        };
        if (i1 - i >= kB && wide) {
          run.template operator()<kB, kB>();
        } else if (wide) {
          run.template operator()<1, kB>();
        } else if (i1 - i >= kB) {
          run.template operator()<kB, 1>();
        } else {
          run.template operator()<1, 1>();
        }
      }
      j += wide ? kB : 1;
    }
  };
  if (n >= m) {
    const int64_t groups = ceil_div(n, kB);
    parallel_for(0, groups, kWorthAThread / (kB * m * k) + 1, [&](int64_t b0, int64_t b1) {
      block(0, m, b0 * kB, smaller(n, b1 * kB));
    });
  } else {
    const int64_t groups = ceil_div(m, kB);
    parallel_for(0, groups, kWorthAThread / (kB * n * k) + 1, [&](int64_t b0, int64_t b1) {
      block(b0 * kB, smaller(m, b1 * kB), 0, n);
    });
  }
}

// Few rows times a B whose rows are contiguous: B is read in place, one panel of columns at a
// time, and the last, narrower panel from a copy.
template <class T>
void row_product(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_stride, const T* b,
                 int64_t b_stride, const Output<T>& out, int64_t c_row) {
  constexpr int64_t kN = kTileColumns<T>;
  int64_t offsets[kFewRows];
  for (int64_t r = 0; r < m; ++r) offsets[r] = r * c_row;
  const LeftBlock<T> left{a, a_stride, a_stride};
  const int64_t panels = ceil_div(n, kN);
  parallel_for(0, panels, kWorthAThread / (kN * m * k) + 1, [&](int64_t first, int64_t last) {
    const int64_t whole = smaller(last, n / kN);
    multiply_block({Order::kRows, m, k, left, b + first * kN, b_stride, kN, offsets, first * kN,
                    whole * kN},
                   out);
    if (last == whole) return;
    Scratch copy(static_cast<size_t>(k * kN) * sizeof(T));
    pack_panel(copy.as<T>(), b + whole * kN, b_stride, 1, k, n - whole * kN);
    multiply_block({Order::kRows, m, k, left, copy.as<T>(), kN, 0, offsets, whole * kN, n}, out);
  });
}

template <class T>
void skinny_product(const GemmArgs& g, const T* a, const T* b, const Output<T>& out) {
  const auto gather = [](T* to, const T* from, int64_t count, int64_t stride, int64_t k,
                         int64_t step) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t p = 0; p < k; ++p) to[i * k + p] = from[i * stride + p * step];
    }
  };
  if (g.m > kFewRows || (g.b_row != 1 && g.b_col != 1)) {  // few columns, as rows of B^T
    if (g.b_row == 1) return dot_product(g.m, g.n, g.k, a, g.a_row, b, g.b_col, out, g.c_row);
    Scratch columns(static_cast<size_t>(g.n * g.k) * sizeof(T));
    gather(columns.as<T>(), b, g.n, g.b_col, g.k, g.b_row);
    return dot_product(g.m, g.n, g.k, a, g.a_row, columns.as<T>(), g.k, out, g.c_row);
  }
  Scratch rows(g.a_col == 1 ? 0 : static_cast<size_t>(g.m * g.k) * sizeof(T));
  int64_t stride = g.a_row;
  if (g.a_col != 1) {
    gather(rows.as<T>(), a, g.m, g.a_row, g.k, g.a_col);
    a = rows.as<T>();
    stride = g.k;
  }
  if (g.b_row == 1) {
    dot_product(g.m, g.n, g.k, a, stride, b, g.b_col, out, g.c_row);
  } else {
    row_product(g.m, g.n, g.k, a, stride, b, g.b_row, out, g.c_row);
  }
}

}  // namespace
}  // namespace zoo
