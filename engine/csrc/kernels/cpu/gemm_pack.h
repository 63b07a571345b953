// Copies parts of matrices into the order in which tiles read them. Internal to the file that
// includes it.
#pragma once

#include "kernels/cpu/gemm_tile.h"

namespace zoo {
namespace {

template <class T>
ZOO_INLINE void copy_row(T* to, const T* from, int64_t n) {
  constexpr int64_t kL = kLanes<T>;
  using V = Vector<T>;
  if (n < kL) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i];
    return;
  }
  for (int64_t i = 0; i + kL <= n; i += kL) store(to + i, load<V>(from + i));
  store(to + n - kL, load<V>(from + n - kL));  // what is left, overlapping
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

// Rows of A for Order::kColumns: to[g * kTileRows * depth + p * kTileRows + r] is row
// g * kTileRows + r at inner index p.
template <class T>
void pack_columns(T* to, const T* a, int64_t row, int64_t column, int64_t rows, int64_t depth) {
  for (int64_t g = 0; g < rows; g += kTileRows) {
    const T* from = a + g * row;
    const int64_t count = rows - g < kTileRows ? rows - g : kTileRows;
    if (row == 1 && count == kTileRows) {
      for (int64_t p = 0; p < depth; ++p) {
        __builtin_memcpy(to + p * kTileRows, from + p * column, kTileRows * sizeof(T));
      }
    } else {
      for (int64_t p = 0; p < depth; ++p) {
        for (int64_t r = 0; r < count; ++r) to[p * kTileRows + r] = from[r * row + p * column];
      }
    }
    to += kTileRows * depth;
  }
}

}  // namespace
}  // namespace zoo
