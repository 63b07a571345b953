// Splits a matrix product into blocks and the blocks among threads. Every element of C is summed
// over the inner dimension in one order that depends on its length alone, so results are the same
// bits for any number of threads and any block of rows or columns.
#pragma once

#include "core/allocator.h"
#include "core/device.h"
#include "core/parallel.h"
#include "kernels/cpu/gemm_pack.h"

namespace zoo {
namespace {

constexpr int64_t kMaxBlockRows = 16 * kTileRows;
// The packed copy of B takes at most this much; wider products go by stripes of columns.
constexpr int64_t kPackedBytes = int64_t{32} << 20;

struct Blocks {
  int64_t depth;    // inner dimension, in pieces of nearly the same length
  int64_t rows;     // of a block of A
  int64_t columns;  // of B that one task multiplies by
};

template <class T>
ZOO_INLINE Blocks choose_blocks(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kN = kTileColumns<T>;
  Blocks b;
  b.depth = larger(1, ceil_div(k, larger(1, ceil_div(k, kMaxDepth<T>))));
  // A quarter of the second-level cache for A: B streams through, and C wants room, too.
  const int64_t fit = l2_cache_bytes() / 4 / (b.depth * static_cast<int64_t>(sizeof(T)));
  b.rows = larger(1, smaller(fit, kMaxBlockRows) / kTileRows) * kTileRows;
  b.columns = round_up(n, kN);
  const int64_t tasks = 8 * num_threads();
  if (num_threads() > 1 && !in_parallel_region()) {
    b.rows = larger(smaller(b.rows, round_up(ceil_div(m, tasks), kTileRows)),
                    smaller(b.rows, 4 * kTileRows));
    const int64_t by_rows = ceil_div(m, b.rows);
    if (by_rows < tasks / 2) {
      b.columns = larger(4 * kN, round_up(ceil_div(n, ceil_div(tasks, by_rows)), kN));
    }
  }
  return b;
}

// C[m, n] = A[m, k] B[k, n]. `left` gives blocks of A and where their rows lie in C:
//   static constexpr Order kOrder;
//   LeftBlock<T> block(row, rows, p, depth, T* space) packs into `space` if it needs to;
//   void offsets(row, rows, int64_t* out);
//   int64_t space(rows, depth) elements of space a block may need.
// `right.pack(to, column, columns, p, depth)` packs one panel of B.
template <class T, class Left, class Right>
void multiply(int64_t m, int64_t n, int64_t k, const Left& left, const Right& right,
              const Output<T>& out) {
  constexpr int64_t kN = kTileColumns<T>;
  if (m <= 0 || n <= 0) return;
  const Blocks blocks = choose_blocks<T>(m, n, k);
  const int64_t fit = kPackedBytes / static_cast<int64_t>(sizeof(T)) / larger(1, k);
  const int64_t stripe = smaller(round_up(n, kN), larger(8 * kN, fit / kN * kN));
  Scratch packed(static_cast<size_t>(larger(1, k) * stripe) * sizeof(T));
  T* const b = packed.as<T>();
  for (int64_t from = 0; from < n; from += stripe) {
    const int64_t to = smaller(n, from + stripe);
    const int64_t panels = ceil_div(to - from, kN);
    parallel_for(0, panels, kWorthAThread / (8 * kN * larger(1, k)) + 1,
                 [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t column = from + i * kN;
        for (int64_t p = 0; p < k; p += blocks.depth) {
          const int64_t depth = smaller(blocks.depth, k - p);
          right.pack(b + (p * panels + i * depth) * kN, column, smaller(kN, to - column), p, depth);
        }
      }
    });
    const int64_t across = ceil_div(to - from, blocks.columns);
    const int64_t tasks = ceil_div(m, blocks.rows) * across;
    const int64_t work =
        smaller(m, blocks.rows) * smaller(to - from, blocks.columns) * larger(1, k);
    parallel_for(0, tasks, kWorthAThread / work + 1, [&](int64_t first, int64_t last) {
      Scratch space(static_cast<size_t>(left.space(blocks.rows, blocks.depth)) * sizeof(T));
      int64_t offsets[kMaxBlockRows];
      for (int64_t task = first; task < last; ++task) {
        const int64_t row = task / across * blocks.rows;
        const int64_t rows = smaller(blocks.rows, m - row);
        const int64_t start = from + task % across * blocks.columns;
        const int64_t end = smaller(to, start + blocks.columns);
        left.offsets(row, rows, offsets);
        int64_t p = 0;
        do {  // once even if k is 0: C then is what Output adds
          const int64_t depth = smaller(blocks.depth, k - p);
          const auto a = left.block(row, rows, p, depth, space.as<T>());
          Output<T> part = out;
          if (p > 0) part.accumulate = true;
          if (p + depth < k) {
            part.bias = nullptr;
            part.residual = nullptr;
            part.relu = false;
          }
          multiply_block({Left::kOrder, rows, depth, a,
                          b + (p * panels + (start - from) / kN * depth) * kN, kN, depth * kN,
                          offsets, start, end},
                         part);
          p += depth;
        } while (p < k);
      }
    });
  }
}

// Rows that lie side by side, each contiguous, `stride` elements apart.
template <class T>
struct DenseRows {
  static constexpr Order kOrder = Order::kRows;
  const T* a;
  int64_t stride;
  int64_t c_row;
  bool in_place;

  // Rows a multiple of 1 KiB apart fall into few sets of the first-level cache, so they are
  // copied unless there are few columns to use a copy for.
  DenseRows(const T* data, int64_t row_stride, int64_t c_stride, int64_t n)
      : a(data), stride(row_stride), c_row(c_stride),
        in_place(row_stride * static_cast<int64_t>(sizeof(T)) % 1024 != 0 ||
                 n <= kTileColumns<T>) {}

  static int64_t pitch(int64_t depth) { return depth + kLanes<T>; }
  int64_t space(int64_t rows, int64_t depth) const { return in_place ? 0 : rows * pitch(depth); }
  LeftBlock<T> block(int64_t row, int64_t rows, int64_t p, int64_t depth, T* space) const {
    const T* from = a + row * stride + p;
    if (in_place) return {from, stride, stride};
    for (int64_t r = 0; r < rows; ++r) copy_row(space + r * pitch(depth), from + r * stride, depth);
    return {space, pitch(depth), pitch(depth)};
  }
  void offsets(int64_t row, int64_t rows, int64_t* out) const {
    for (int64_t r = 0; r < rows; ++r) out[r] = (row + r) * c_row;
  }
};

// Any strides.
template <class T>
struct StridedRows {
  static constexpr Order kOrder = Order::kColumns;
  const T* a;
  int64_t row_stride, column_stride;
  int64_t c_row;

  int64_t space(int64_t rows, int64_t depth) const { return columns_space<T>(rows, depth); }
  LeftBlock<T> block(int64_t row, int64_t rows, int64_t p, int64_t depth, T* space) const {
    pack_columns(space, a + row * row_stride + p * column_stride, row_stride, column_stride, rows,
                 depth);
    return {space, depth, kTileRows};
  }
  void offsets(int64_t row, int64_t rows, int64_t* out) const {
    for (int64_t r = 0; r < rows; ++r) out[r] = (row + r) * c_row;
  }
};

template <class T>
struct StridedPanels {
  const T* b;
  int64_t row_stride, column_stride;
  void pack(T* to, int64_t column, int64_t columns, int64_t p, int64_t depth) const {
    pack_panel(to, b + p * row_stride + column * column_stride, row_stride, column_stride, depth,
               columns);
  }
};

}  // namespace
}  // namespace zoo
