// The innermost part of every matrix product and convolution: a tile of C that lives in registers
// (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008; Van Zee and
// van de Geijn, "BLIS", 2015). Internal to the file that includes it.
#pragma once

#include <cstdint>

#include "kernels/cpu/row_vector.h"

namespace zoo {
namespace {

// A tile is kTileRows x 2 vectors: with 32 registers 28 accumulators, two vectors of B and one
// broadcast of A; with 16 registers 12, 2 and 1.
#if ZOO_ISA_LEVEL == 2 || defined(__aarch64__)
constexpr int kTileRows = 14;
#else
constexpr int kTileRows = 6;
#endif
template <class T>
constexpr int kTileColumns = 2 * kLanes<T>;

// The longest stretch of the inner dimension that is multiplied at once: a panel of B (32 KiB for
// AVX-512, 24 KiB for AVX2) then stays in the first-level cache while rows of A stream past it.
template <class T>
constexpr int64_t kMaxDepth =
    (kVectorBytes == 64 ? 32768 : 24576) / (kTileColumns<T> * static_cast<int>(sizeof(T)));

// How the rows of A lie in memory: `kRows` has each row contiguous along the inner dimension,
// `kColumns` has the rows of one inner index side by side.
enum class Order { kRows, kColumns };

// Rows [0, rows) of A. Row r, inner index p is data[r * stride + p] for Order::kRows; for
// Order::kColumns the rows come in groups of kTileRows, group g at data + g * kTileRows * step,
// and row r of a group is [p * stride + r]. For Order::kRows step equals stride.
template <class T>
struct LeftBlock {
  const T* data;
  int64_t step;
  int64_t stride;
};

// Where results go, and what is added to them before they are stored.
template <class T>
struct Output {
  T* c = nullptr;
  const T* bias = nullptr;      // one per column
  const T* residual = nullptr;  // laid out as c
  bool accumulate = false;      // add to what c holds
  bool relu = false;
};

// The first `count` of the lanes; the others are 0.
template <class V, class T>
ZOO_INLINE V load_first(const T* p, int64_t count) {
  V v{};
  __builtin_memcpy(&v, p, static_cast<size_t>(count) * sizeof(T));
  return v;
}
template <class V, class T>
ZOO_INLINE void store_first(T* p, V v, int64_t count) {
  __builtin_memcpy(p, &v, static_cast<size_t>(count) * sizeof(T));
}

// Adds what Output asks for to a tile and stores it. `kWhole`: all kVectors * lanes columns exist.
template <bool kWhole, class T, int kR, int kVectors>
ZOO_INLINE void finish_tile(Vector<T> (&acc)[kR][kVectors], const Output<T>& out,
                            const int64_t* offsets, int64_t column, int64_t columns) {
  using V = Vector<T>;
  constexpr int64_t kL = kLanes<T>;
  const auto read = [&](const T* p, int v) {
    return kWhole ? load<V>(p + v * kL)
                  : load_first<V>(p + v * kL, columns - v * kL < kL ? columns - v * kL : kL);
  };
  if (out.accumulate) {
    for (int r = 0; r < kR; ++r) {
      for (int v = 0; v < kVectors; ++v) acc[r][v] += read(out.c + offsets[r] + column, v);
    }
  }
  if (out.bias != nullptr) {
    for (int v = 0; v < kVectors; ++v) {
      const V bias = read(out.bias + column, v);
      for (int r = 0; r < kR; ++r) acc[r][v] += bias;
    }
  }
  if (out.residual != nullptr) {
    for (int r = 0; r < kR; ++r) {
      for (int v = 0; v < kVectors; ++v) acc[r][v] += read(out.residual + offsets[r] + column, v);
    }
  }
  if (out.relu) {
    // Written so that a NaN stays one.
    for (int r = 0; r < kR; ++r) {
      for (int v = 0; v < kVectors; ++v) acc[r][v] = acc[r][v] < V{} ? V{} : acc[r][v];
    }
  }
  for (int r = 0; r < kR; ++r) {
    T* c = out.c + offsets[r] + column;
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (kWhole) {
        store(c + v * kL, acc[r][v]);
      } else {
        store_first(c + v * kL, acc[r][v], columns - v * kL < kL ? columns - v * kL : kL);
      }
    }
  }
}

// C[offsets[r] + column ...] for kR rows and kVectors vectors of columns, of which `columns` exist.
template <class T, Order kOrder, int kR, int kVectors>
[[gnu::noinline]] void tile(int64_t depth, const T* a, int64_t a_stride, const T* b,
                            int64_t b_stride, const Output<T>& out, const int64_t* offsets,
                            int64_t column, int64_t columns) {
  using V = Vector<T>;
  V acc[kR][kVectors] = {};
  // Rows are reached from three pointers that are five rows apart, so that their addresses need
  // few registers; the empty asm keeps the compiler from deriving one pointer from another.
  const T* base[3] = {a, a + 5 * a_stride, a + 10 * a_stride};
  if constexpr (kOrder == Order::kRows && kR > 5) {
    asm("" : "+r"(base[1]));
    asm("" : "+r"(base[2]));
  }
  for (int64_t p = 0; p < depth; ++p) {
    V bv[kVectors];
    for (int v = 0; v < kVectors; ++v) bv[v] = load<V>(b + v * kLanes<T>);
#pragma GCC unroll 16
    for (int r = 0; r < kR; ++r) {
      const T x = kOrder == Order::kRows ? base[r / 5][(r % 5) * a_stride + p] : a[r];
      for (int v = 0; v < kVectors; ++v) acc[r][v] += bv[v] * x;
    }
    b += b_stride;
    if constexpr (kOrder == Order::kColumns) a += a_stride;
  }
  if (columns >= kVectors * kLanes<T>) {
    finish_tile<true>(acc, out, offsets, column, columns);
  } else {
    finish_tile<false>(acc, out, offsets, column, columns);
  }
}

// All rows of a block times one panel of B.
template <class T, Order kOrder, int kVectors>
void multiply_panel(int64_t rows, int64_t depth, const LeftBlock<T>& a, const T* b,
                    int64_t b_stride, const Output<T>& out, const int64_t* offsets, int64_t column,
                    int64_t columns) {
  int64_t r = 0;
  const auto run = [&]<int kR>() {
    const int64_t first = r / kTileRows * kTileRows;
    const T* data = kOrder == Order::kRows ? a.data + r * a.stride
                                           : a.data + first * a.step + (r - first);
    tile<T, kOrder, kR, kVectors>(depth, data, a.stride, b, b_stride, out, offsets + r, column,
                                  columns);
    r += kR;
  };
  while (rows - r >= kTileRows) run.template operator()<kTileRows>();
  if constexpr (kTileRows > 8) {
    if (rows - r >= 8) run.template operator()<8>();
  }
  if (rows - r >= 4) run.template operator()<4>();
  if (rows - r >= 2) run.template operator()<2>();
  if (rows - r >= 1) run.template operator()<1>();
}

// Rows of A times the columns [column, end) of B, which lies in panels of kTileColumns, `panel`
// elements apart; `b` is the panel of `column`. offsets[r] is where row r begins in C.
template <class T, Order kOrder>
void multiply_block(int64_t rows, int64_t depth, const LeftBlock<T>& a, const T* b, int64_t panel,
                    const Output<T>& out, const int64_t* offsets, int64_t column, int64_t end) {
  constexpr int64_t kN = kTileColumns<T>;
  for (; column < end; column += kN, b += panel) {
    const int64_t columns = end - column < kN ? end - column : kN;
    if (columns > kLanes<T>) {
      multiply_panel<T, kOrder, 2>(rows, depth, a, b, kN, out, offsets, column, columns);
    } else {
      multiply_panel<T, kOrder, 1>(rows, depth, a, b, kN, out, offsets, column, columns);
    }
  }
}

}  // namespace
}  // namespace zoo
