// What the blocked loops of matrix products and convolutions share: the shape of a tile and the
// kernel that multiplies a block by panels. The tiles themselves are compiled once, in
// gemm_tile.cpp.
#pragma once

#include <cstdint>

#include "core/dispatch.h"
#include "kernels/cpu/row_vector.h"

namespace zoo {

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
  const T* scale = nullptr;     // one per column; multiplies the sum
  const T* bias = nullptr;      // one per column
  const T* residual = nullptr;  // laid out as c
  bool accumulate = false;      // add to what c holds
  bool relu = false;
};

// Rows of A, `depth` long, times the columns [column, end) of B. B lies in panels of kTileColumns
// columns, `panel` elements apart, the first being that of `column`; a panel's rows are b_stride
// apart, and it must be readable to its full width. offsets[r] is where row r begins in C.
template <class T>
struct BlockProduct {
  Order order;
  int64_t rows, depth;
  LeftBlock<T> a;
  const T* b;
  int64_t b_stride, panel;
  const int64_t* offsets;
  int64_t column, end;
};

extern Kernel<void(const BlockProduct<float>&, const Output<float>&)> multiply_block_f32_kernel;
extern Kernel<void(const BlockProduct<double>&, const Output<double>&)> multiply_block_f64_kernel;

namespace {

// A tile is kTileRows x kTileVectors vectors. With 32 registers 24 accumulators, four vectors of B
// and broadcasts of A; with 16 registers 12, 2 and 1. The wide tile asks the least of the load ports
// (10 loads for 24 multiply-adds), which a neighbour on the same core may share.
constexpr int kTileRows = 6;
#if ZOO_ISA_LEVEL == 2 || defined(__aarch64__)
constexpr int kTileVectors = 4;
#else
constexpr int kTileVectors = 2;
#endif
template <class T>
constexpr int kTileColumns = kTileVectors * kLanes<T>;

// The longest stretch of the inner dimension that is multiplied at once: kTileRows of A then take
// 9 or 18 KiB of the first-level cache, and panels of B stream past them from the second.
constexpr int64_t kMaxDepth = 384;
// Rows that callers hand over at once, at most.
constexpr int64_t kBlockRows = (kVectorBytes == 64 ? 18 : 8) * kTileRows;

ZOO_INLINE void multiply_block(const BlockProduct<float>& block, const Output<float>& out) {
  multiply_block_f32_kernel.on(DeviceType::kCPU)(block, out);
}
ZOO_INLINE void multiply_block(const BlockProduct<double>& block, const Output<double>& out) {
  multiply_block_f64_kernel.on(DeviceType::kCPU)(block, out);
}

ZOO_INLINE int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
ZOO_INLINE int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }
ZOO_INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
ZOO_INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

// Work that is worth waking a thread for, in multiply-adds.
constexpr int64_t kWorthAThread = 1 << 17;

}  // namespace
}  // namespace zoo
