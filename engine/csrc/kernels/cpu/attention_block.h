// What attention's forward and backward pass share: copies of keys, values and queries in the
// order in which tiles read them, and blocks of scores. Internal to the file that includes it.
#pragma once

#include <algorithm>

#include "core/allocator.h"
#include "core/parallel.h"
#include "kernels/attention.h"
#include "kernels/cpu/gemm_pack.h"

namespace zoo {
namespace {

constexpr int64_t kPanel = kTileColumns<float>;
// Queries of one block, and those of them that share the end of what they see.
constexpr int64_t kQueryBlock = 96, kSameEnd = 4 * kTileRows;
static_assert(kQueryBlock % kSameEnd == 0);

ZOO_INLINE int64_t whole_vectors(int64_t n) { return round_up(n, kLanes<float>); }

// Rows padded with zeros to whole panels: the right operand of a product over them, and a left one.
struct PaddedRows {
  float* data;
  int64_t stride;

  ZOO_INLINE void fill(const HeadRows<const float>& from, int64_t b, int64_t h, int64_t row,
                       int64_t rows, int64_t width) const {
    for (int64_t r = 0; r < rows; ++r) {
      copy_row(data + r * stride, from.at(b, h, row + r), width);
      if (width < stride) zero_row(data + r * stride + width, stride - width);
    }
  }
};

// Panel i, at data + i * kPanel * width, has rows i * kPanel and on as its columns.
ZOO_INLINE void transpose_rows(float* to, const HeadRows<const float>& from, int64_t b, int64_t h,
                               int64_t rows, int64_t width) {
  for (int64_t r = 0; r < rows; r += kPanel) {
    pack_panel(to + r * width, from.at(b, h, r), 1, from.row, width, smaller(kPanel, rows - r));
  }
}

// A square of the score matrix: which of its keys each query sees, if the rule is causal.
struct Square {
  int64_t query, rows;   // the first query, and how many
  int64_t key, columns;  // the first key, and how many
  bool causal;

  ZOO_INLINE bool cut() const { return causal && query < key + columns - 1; }
  // How many of the columns row r sees.
  ZOO_INLINE int64_t seen(int64_t r) const {
    return causal ? std::clamp<int64_t>(query + r + 1 - key, 0, columns) : columns;
  }
  // Calls body(first row, rows, columns that any of them sees) for a few rows at a time: what is
  // computed of their scores stays in the first-level cache from product to product.
  template <class F>
  ZOO_INLINE void by_rows(F&& body) const {
    for (int64_t r = 0; r < rows; r += kSameEnd) {
      const int64_t n = smaller(kSameEnd, rows - r);
      if (const int64_t end = seen(r + n - 1); end > 0) body(r, n, end);
    }
  }
};

// Offsets of rows that lie `stride` apart.
struct RowOffsets {
  static_assert(kMaxDepth >= kQueryBlock);
  int64_t at[kMaxDepth];
  explicit RowOffsets(int64_t stride) {
    for (int64_t r = 0; r < kMaxDepth; ++r) at[r] = r * stride;
  }
};

// scores[r * stride + j] = row r of `a` times key j; `keys` is what transpose_rows made of them.
ZOO_INLINE void multiply_keys(int64_t rows, int64_t columns, const float* a, int64_t a_stride,
                              int64_t width, const float* keys, float* scores,
                              const RowOffsets& offsets) {
  Output<float> out;
  out.c = scores;
  multiply_block({Order::kRows, rows, width, {a, a_stride, a_stride}, keys, kPanel, width * kPanel,
                  offsets.at, 0, whole_vectors(columns)},
                 out);
}

// Turns products of row r into scores in place: times the scale, plus the mask.
ZOO_INLINE void apply_mask(const Attention& a, int64_t b, int64_t h, int64_t query, int64_t key,
                           int64_t columns, float* scores) {
  const int64_t* stride = a.mask_stride;
  const int64_t first = b * stride[0] + h * stride[1] + query * stride[2] + key * stride[3];
  constexpr float kNothing = -std::numeric_limits<float>::infinity();
  if (a.mask_is_bool) {
    const bool* mask = static_cast<const bool*>(a.mask) + first;
    for (int64_t j = 0; j < columns; ++j) {
      scores[j] = mask[j * stride[3]] ? scores[j] * a.scale : kNothing;
    }
  } else {
    const float* mask = static_cast<const float*>(a.mask) + first;
    for (int64_t j = 0; j < columns; ++j) scores[j] = scores[j] * a.scale + mask[j * stride[3]];
  }
}

// e^x for x that is not positive, or NaN: exp_of without what only large results need.
ZOO_INLINE Vector<float> exp_below(Vector<float> x) {
  using V = Vector<float>;
  constexpr float kSmallest = -87.336544f;
  const auto [r, n] = reduce_exp(x < kSmallest ? V{} + kSmallest : x);
  return x < kSmallest ? V{} : exp_of_reduced(r) * power_of_2<V>(n);
}

}  // namespace
}  // namespace zoo
