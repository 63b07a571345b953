// Copies parts of matrices into the order in which tiles read them. Internal to the file that
// includes it.
#pragma once

#include "kernels/cpu/gemm_block.h"

namespace zoo {
namespace {

template <class T>
ZOO_INLINE void copy_row(T* to, const T* from, int64_t n) {
  constexpr int64_t kL = kLanes<T>;
  using V = Vector<T>;
  int64_t i = 0;
  for (; i + kL <= n; i += kL) store(to + i, load<V>(from + i));
  if (i == n) return;
  if (n > kL) return store(to + n - kL, load<V>(from + n - kL));  // overlaps what is there
  for (; i < n; ++i) to[i] = from[i];
}

template <class T>
ZOO_INLINE void zero_row(T* to, int64_t n) {
  __builtin_memset(to, 0, static_cast<size_t>(n) * sizeof(T));
}

// A square of kLanes x kLanes: to[i * to_stride + j] = from[j * from_stride + i], by exchanging
// ever smaller quarters: log2(lanes) shuffles a vector.
template <class T>
ZOO_INLINE void transpose_square(T* to, int64_t to_stride, const T* from, int64_t from_stride) {
  constexpr int kL = kLanes<T>;
  using V = Vector<T>;
  using I = VectorN<std::conditional_t<sizeof(T) == 4, int32_t, int64_t>, kL>;
  V rows[kL];
  for (int i = 0; i < kL; ++i) rows[i] = load<V>(from + i * from_stride);
#pragma GCC unroll 8
  for (int half = kL / 2; half > 0; half /= 2) {
    I low, high;
#pragma GCC unroll 16
    for (int lane = 0; lane < kL; ++lane) {
      const bool upper = (lane & half) != 0;
      low[lane] = upper ? kL + (lane - half) : lane;
      high[lane] = upper ? kL + lane : lane + half;
    }
#pragma GCC unroll 16
    for (int i = 0; i < kL; ++i) {
      if ((i & half) != 0) continue;
      const V a = rows[i], b = rows[i + half];
      rows[i] = __builtin_shuffle(a, b, low);
      rows[i + half] = __builtin_shuffle(a, b, high);
    }
  }
  for (int i = 0; i < kL; ++i) store(to + i * to_stride, rows[i]);
}

// to[p * kTileColumns + j] = b[p * row + j * column] for p < depth and j < columns; the columns up
// to kTileColumns become 0.
template <class T>
void pack_panel(T* to, const T* b, int64_t row, int64_t column, int64_t depth, int64_t columns) {
  constexpr int64_t kN = kTileColumns<T>;
  constexpr int64_t kL = kLanes<T>;
  if (columns < kN) zero_row(to, depth * kN);
  if (column == 1) {
    for (int64_t p = 0; p < depth; ++p) copy_row(to + p * kN, b + p * row, columns);
    return;
  }
  int64_t done = 0;
  if (row == 1) {
    for (; done + kL <= columns; done += kL) {
      int64_t p = 0;
      for (; p + kL <= depth; p += kL) {
        transpose_square(to + p * kN + done, kN, b + p + done * column, column);
      }
      for (; p < depth; ++p) {
        for (int64_t j = done; j < done + kL; ++j) to[p * kN + j] = b[p + j * column];
      }
    }
  }
  for (int64_t p = 0; p < depth; ++p) {
    for (int64_t j = done; j < columns; ++j) to[p * kN + j] = b[p * row + j * column];
  }
}

// Elements that pack_columns writes, at most.
ZOO_INLINE int64_t columns_space(int64_t rows, int64_t depth) {
  return round_up(rows, kTileRows) * depth;
}

// Rows of A for Order::kColumns: to[g * kTileRows * depth + p * kTileRows + r] is row
// g * kTileRows + r at inner index p.
template <class T>
void pack_columns(T* to, const T* a, int64_t row, int64_t column, int64_t rows, int64_t depth) {
  constexpr int64_t kR = kTileRows, kWide = 8;
  static_assert(kR <= kWide && kWide <= 2 * kR);
  int64_t done = 0;
  if (row == 1 && column >= rows && depth > 0) {
    // Eight numbers at a time, of which the next store overwrites what is too much. Several groups
    // at a time, so that whole cache lines are read.
    constexpr int64_t kGroups = 16;
    const int64_t last = depth - 1;
    while (rows - done >= kR) {
      const int64_t groups = smaller(kGroups, (rows - done) / kR);
      const T* from = a + done;
      for (int64_t p = 0; p < last; ++p, from += column) {
        for (int64_t g = 0; g < groups; ++g) {
          __builtin_memcpy(to + (done + g * kR) * depth + p * kR, from + g * kR,
                           kWide * sizeof(T));
        }
      }
      for (int64_t g = 0; g < groups; ++g) {
        __builtin_memcpy(to + (done + g * kR) * depth + last * kR, from + g * kR, kR * sizeof(T));
      }
      done += groups * kR;
    }
  }
  for (; done < rows; done += kR) {
    const int64_t count = smaller(kR, rows - done);
    T* group = to + done * depth;
    for (int64_t p = 0; p < depth; ++p) {
      for (int64_t r = 0; r < count; ++r) group[p * kR + r] = a[(done + r) * row + p * column];
    }
  }
}

}  // namespace
}  // namespace zoo
