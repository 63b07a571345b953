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

constexpr int64_t kMaxBlockRows = 2 * kBlockRows;
// The packed copy of B takes at most this much; wider products go by stripes of columns.
constexpr int64_t kPackedBytes = int64_t{32} << 20;

struct Blocks {
  int64_t depth;    // inner dimension, in pieces of nearly the same length
  int64_t rows;     // of a block of A
  int64_t columns;  // of B that one task multiplies by
};

ZOO_INLINE int64_t choose_depth(int64_t k) {
  return larger(1, ceil_div(k, larger(1, ceil_div(k, kMaxDepth))));
}

template <class T>
ZOO_INLINE Blocks choose_blocks(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kN = kTileColumns<T>;
  Blocks b;
  b.depth = choose_depth(k);
  // A quarter of the second-level cache for A.
  const int64_t fit = l2_cache_bytes() / 4 / (b.depth * static_cast<int64_t>(sizeof(T)));
  b.rows = larger(1, smaller(fit, kMaxBlockRows) / kTileRows) * kTileRows;
  // Half of it for B, which every block of rows reads anew; the rest is for A and C.
  const int64_t wide = l2_cache_bytes() / 2 / (b.depth * static_cast<int64_t>(sizeof(T)));
  b.columns = round_up(ceil_div(n, ceil_div(n, larger(4 * kN, wide))), kN);
  const int64_t tasks = 8 * num_threads();
  if (num_threads() > 1 && !in_parallel_region()) {
    b.rows = larger(smaller(b.rows, round_up(ceil_div(m, tasks), kTileRows)),
                    smaller(b.rows, 4 * kTileRows));
    b.rows = round_up(ceil_div(m, ceil_div(m, b.rows)), kTileRows);
    const int64_t by_rows = ceil_div(m, b.rows);
    if (by_rows < tasks / 2) {
      b.columns = larger(4 * kN, round_up(ceil_div(n, ceil_div(tasks, by_rows)), kN));
    }
  }
  return b;
}

// What one depth block leaves to the next: sums go on, and only the last one finishes them.
template <class T>
ZOO_INLINE Output<T> part_of(const Output<T>& out, bool first, bool last) {
  Output<T> part = out;
  if (!first) part.accumulate = true;
  if (!last) {
    part.scale = nullptr;
    part.bias = nullptr;
    part.residual = nullptr;
    part.relu = false;
  }
  return part;
}

// Packs the panels [first, last) of the columns [from, to) of B, rows [p, p + depth), one panel
// after the other. A few rows of each in turn, so that B is read along its rows.
template <class T, class Right>
ZOO_INLINE void pack_panels(const Right& right, int64_t from, int64_t to, int64_t first,
                            int64_t last, int64_t p, int64_t depth, T* out) {
  constexpr int64_t kN = kTileColumns<T>, kSlice = 32;
  for (int64_t slice = 0; slice < depth; slice += kSlice) {
    const int64_t rows = smaller(kSlice, depth - slice);
    for (int64_t i = first; i < last; ++i) {
      const int64_t column = from + i * kN;
      right.pack(out + ((i - first) * depth + slice) * kN, column, smaller(kN, to - column),
                 p + slice, rows);
    }
  }
}

// Packs the columns [from, to) of B whole: one block of `depth` rows after the other, and in each
// one panel after the other.
template <class T, class Right>
void pack_columns_of(const Right& right, int64_t from, int64_t to, int64_t k, int64_t block_depth,
                     T* out) {
  constexpr int64_t kN = kTileColumns<T>, kTogether = 4;
  const int64_t panels = ceil_div(to - from, kN);
  parallel_for(0, ceil_div(panels, kTogether),
               kWorthAThread / (8 * kTogether * kN * larger(1, k)) + 1,
               [&](int64_t group, int64_t last) {
    for (; group < last; ++group) {
      const int64_t first = group * kTogether;
      for (int64_t p = 0; p < k; p += block_depth) {
        const int64_t depth = smaller(block_depth, k - p);
        pack_panels(right, from, to, first, smaller(panels, first + kTogether), p, depth,
                    out + (p * panels + first * depth) * kN);
      }
    }
  });
}

// Elements of a packed copy of B, and the copy: what `right.packed` may then be.
template <class T>
ZOO_INLINE int64_t packed_size(int64_t n, int64_t k) {
  return round_up(n, kTileColumns<T>) * k;
}
template <class T, class Right>
void pack_whole(const Right& right, int64_t n, int64_t k, T* out) {
  pack_columns_of(right, 0, n, k, choose_depth(k), out);
}

// Columns of C that a task takes by itself, or 0 if A would be read too often that way: it packs
// its own part of B into its own second-level cache and multiplies every row by it, so that B
// crosses the shared cache once and no thread waits for another.
template <class T>
ZOO_INLINE int64_t columns_of_a_task(int64_t m, int64_t n, int64_t k, int64_t block_depth) {
  constexpr int64_t kN = kTileColumns<T>, kTasks = 2;
  const int64_t threads = in_parallel_region() ? 1 : num_threads();
  if (n < kTasks * threads * kN || m > n || k < kN) return 0;
  const int64_t wide = l2_cache_bytes() / 4 / (block_depth * static_cast<int64_t>(sizeof(T)));
  const int64_t tasks = round_up(ceil_div(n, larger(2 * kN, wide)), kTasks * threads);
  return round_up(ceil_div(n, tasks), kN);
}

template <class T, class Left, class Right>
void multiply_by_columns(int64_t m, int64_t n, int64_t k, int64_t width, int64_t block_depth,
                         const Left& left, const Right& right, const Output<T>& out) {
  constexpr int64_t kN = kTileColumns<T>;
  const int64_t panels = ceil_div(n, kN);
  const T* const packed = right.packed;
  parallel_for(0, ceil_div(n, width), 1, [&](int64_t task, int64_t last) {
    Scratch space(packed != nullptr ? 0 : static_cast<size_t>(block_depth * width) * sizeof(T));
    int64_t offsets[kMaxBlockRows];
    for (; task < last; ++task) {
      const int64_t start = task * width, end = smaller(n, start + width);
      for (int64_t p = 0; p < k; p += block_depth) {
        const int64_t depth = smaller(block_depth, k - p);
        const Output<T> part = part_of(out, p == 0, p + depth == k);
        const T* b = packed != nullptr ? packed + p * panels * kN + start * depth : nullptr;
        if (b == nullptr) {
          pack_panels(right, start, end, 0, ceil_div(end - start, kN), p, depth, space.as<T>());
          b = space.as<T>();
        }
        for (int64_t row = 0; row < m; row += kMaxBlockRows) {
          const int64_t rows = smaller(kMaxBlockRows, m - row);
          left.offsets(row, rows, offsets);
          multiply_block({Left::kOrder, rows, depth, left.block(row, rows, p, depth, nullptr), b,
                          kN, depth * kN, offsets, start, end},
                         part);
        }
      }
    }
  });
}

// Rows of A that were packed whole, each contiguous.
template <class T, class Left>
struct PackedRows {
  static constexpr Order kOrder = Order::kRows;
  const Left& left;
  const T* a;
  int64_t stride;

  LeftBlock<T> block(int64_t row, int64_t, int64_t p, int64_t, T*) const {
    return {a + row * stride + p, stride, stride};
  }
  void offsets(int64_t row, int64_t rows, int64_t* out) const { left.offsets(row, rows, out); }
};

// C[m, n] = A[m, k] B[k, n]. `left` gives blocks of A and where their rows lie in C:
//   static constexpr Order kOrder;
//   static constexpr bool kPacks: whether blocks are packed, or read where they are;
//   LeftBlock<T> block(row, rows, p, depth, T* space) packs into `space` if it needs to;
//   void offsets(row, rows, int64_t* out);
//   int64_t space(rows, depth) elements of space a block may need.
// `right.pack(to, column, columns, p, depth)` packs a part of one panel of B; `right.packed` is
// what pack_whole made of B, or null.
template <class T, class Left, class Right>
void multiply(int64_t m, int64_t n, int64_t k, const Left& left, const Right& right,
              const Output<T>& out) {
  constexpr int64_t kN = kTileColumns<T>;
  if (m <= 0 || n <= 0) return;
  const Blocks blocks = choose_blocks<T>(m, n, k);
  const int64_t width = columns_of_a_task<T>(m, n, k, blocks.depth);
  if constexpr (!Left::kPacks) {
    if (width > 0) return multiply_by_columns(m, n, k, width, blocks.depth, left, right, out);
  } else if constexpr (Left::kOrder == Order::kRows) {
    if (width > 0) {
      Scratch rows(static_cast<size_t>(left.space(m, k)) * sizeof(T));
      const int64_t stride = left.space(1, k);
      parallel_for(0, m, kWorthAThread / (8 * k) + 1, [&](int64_t first, int64_t last) {
        left.block(first, last - first, 0, k, rows.as<T>() + first * stride);
      });
      const PackedRows<T, Left> packed{left, rows.as<T>(), stride};
      return multiply_by_columns(m, n, k, width, blocks.depth, packed, right, out);
    }
  }
  const int64_t fit = kPackedBytes / static_cast<int64_t>(sizeof(T)) / larger(1, k);
  const int64_t stripe =
      right.packed != nullptr ? round_up(n, kN)
                              : smaller(round_up(n, kN), larger(8 * kN, fit / kN * kN));
  Scratch space(right.packed != nullptr
                    ? 0 : static_cast<size_t>(larger(1, k) * stripe) * sizeof(T));
  for (int64_t from = 0; from < n; from += stripe) {
    const int64_t to = smaller(n, from + stripe);
    const int64_t panels = ceil_div(to - from, kN);
    const T* b = right.packed;
    if (b == nullptr) {
      pack_columns_of(right, from, to, k, blocks.depth, space.as<T>());
      b = space.as<T>();
    }
    const int64_t across = ceil_div(to - from, blocks.columns);
    const int64_t down = ceil_div(m, blocks.rows);
    const int64_t tasks = down * across;
    const int64_t work =
        smaller(m, blocks.rows) * smaller(to - from, blocks.columns) * larger(1, blocks.depth);
    int64_t p = 0;
    do {  // once even if k is 0: C then is what Output adds
      const int64_t depth = smaller(blocks.depth, k - p);
      const Output<T> part = part_of(out, p == 0, p + depth >= k);
      parallel_for(0, tasks, kWorthAThread / work + 1, [&](int64_t first, int64_t last) {
        Scratch space(static_cast<size_t>(left.space(blocks.rows, blocks.depth)) * sizeof(T));
        int64_t offsets[kMaxBlockRows];
        for (int64_t task = first; task < last; ++task) {
          const int64_t row = task % down * blocks.rows;
          const int64_t rows = smaller(blocks.rows, m - row);
          const int64_t start = from + task / down * blocks.columns;
          const int64_t end = smaller(to, start + blocks.columns);
          left.offsets(row, rows, offsets);
          const auto a = left.block(row, rows, p, depth, space.as<T>());
          multiply_block({Left::kOrder, rows, depth, a,
                          b + (p * panels + (start - from) / kN * depth) * kN, kN, depth * kN,
                          offsets, start, end},
                         part);
        }
      });
      p += depth;
    } while (p < k);
  }
}

// Rows that lie side by side, each contiguous, `stride` elements apart. They are read where they are:
// the six of a tile fit the ways of the first-level cache even if they all fall into the same sets.
template <class T>
struct DenseRows {
  static constexpr Order kOrder = Order::kRows;
  static constexpr bool kPacks = false;
  const T* a;
  int64_t stride;
  int64_t c_row;

  int64_t space(int64_t, int64_t) const { return 0; }
  LeftBlock<T> block(int64_t row, int64_t, int64_t p, int64_t, T*) const {
    return {a + row * stride + p, stride, stride};
  }
  void offsets(int64_t row, int64_t rows, int64_t* out) const {
    for (int64_t r = 0; r < rows; ++r) out[r] = (row + r) * c_row;
  }
};

// Any strides.
template <class T>
struct StridedRows {
  static constexpr Order kOrder = Order::kColumns;
  static constexpr bool kPacks = true;
  const T* a;
  int64_t row_stride, column_stride;
  int64_t c_row;

  int64_t space(int64_t rows, int64_t depth) const { return columns_space(rows, depth); }
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
  const T* packed = nullptr;

  void pack(T* to, int64_t column, int64_t columns, int64_t p, int64_t depth) const {
    pack_panel(to, b + p * row_stride + column * column_stride, row_stride, column_stride, depth,
               columns);
  }
};

}  // namespace
}  // namespace zoo
