// Attention, forward: blocks of queries go past blocks of keys, and what has been summed so far is
// scaled again when a larger score turns up (Milakov and Gimelshein, arXiv:1805.02867; Dao et al.,
// arXiv:2205.14135).
#include "kernels/cpu/attention_block.h"

namespace zoo {
namespace {

constexpr int64_t kKeyBlock = 384;
static_assert(kKeyBlock % kPanel == 0 && kKeyBlock <= kMaxDepth);
// Rows of scores lie an odd number of cache lines apart, so that they do not fall into one set.
constexpr int64_t kScoreStride = kKeyBlock + 16;

// Keys and values of every head, as tiles read them.
struct PackedKeys {
  int64_t key_size, value_size, value_stride;
  Scratch keys, values;

  explicit PackedKeys(const Attention& a)
      : key_size(round_up(a.keys, kPanel) * a.width),
        value_size(a.keys * round_up(a.value_width, kPanel)),
        value_stride(round_up(a.value_width, kPanel)),
        keys(static_cast<size_t>(a.batch * a.kv_heads * key_size) * sizeof(float)),
        values(static_cast<size_t>(a.batch * a.kv_heads * value_size) * sizeof(float)) {
    const int64_t work = a.keys * (a.width + a.value_width);
    parallel_for(0, a.batch * a.kv_heads, 32768 / (work + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / a.kv_heads, h = i % a.kv_heads;
        transpose_rows(keys.as<float>() + i * key_size, a.k, b, h, a.keys, a.width);
        PaddedRows{values.as<float>() + i * value_size, value_stride}.fill(a.v, b, h, 0, a.keys,
                                                                           a.value_width);
      }
    });
  }
};

// A block of queries while keys pass.
struct QueryBlock {
  int64_t b, h, query, rows;
  float top[kQueryBlock], total[kQueryBlock];  // the largest score so far, and sum of exponentials
};

// Scores of one row become exponentials; the row's sums so far follow a larger top. Columns from
// `seen` to `columns`, which others of the block see, become 0.
ZOO_INLINE void exponentials(const Attention& a, QueryBlock& block, int64_t r, int64_t key,
                             int64_t seen, int64_t columns, float* scores, float* sums,
                             int64_t width) {
  using V = Vector<float>;
  constexpr int64_t kL = kLanes<float>;
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  float scale = a.scale;
  if (a.mask != nullptr) {
    apply_mask(a, block.b, block.h, block.query + r, key, seen, scores);
    scale = 1;
  } else if (!(scale > 0)) {  // its product with what fills the last vector must be -infinity
    for (int64_t j = 0; j < seen; ++j) scores[j] *= scale;
    scale = 1;
  }
  const int64_t n = whole_vectors(seen);
  for (int64_t j = seen; j < n; ++j) scores[j] = kLowest;
  V best0 = V{} + kLowest, best1 = best0;
  int64_t j = 0;
  for (; j + 2 * kL <= n; j += 2 * kL) {
    const V x0 = load<V>(scores + j) * scale, x1 = load<V>(scores + j + kL) * scale;
    best0 = x0 > best0 ? x0 : best0;
    best1 = x1 > best1 ? x1 : best1;
  }
  if (j < n) {
    const V x = load<V>(scores + j) * scale;
    best0 = x > best0 ? x : best0;
  }
  best0 = best1 > best0 ? best1 : best0;
  float top = block.top[r];
  for (int i = 0; i < kL; ++i) top = best0[i] > top ? best0[i] : top;
  const float base = top == kLowest ? 0.0f : top;  // a query that has seen nothing yet
  V sum0{}, sum1{};
  for (j = 0; j + 2 * kL <= n; j += 2 * kL) {
    const V e0 = exp_below(load<V>(scores + j) * scale - base);
    const V e1 = exp_below(load<V>(scores + j + kL) * scale - base);
    store(scores + j, e0);
    store(scores + j + kL, e1);
    sum0 += e0;
    sum1 += e1;
  }
  if (j < n) {
    const V e = exp_below(load<V>(scores + j) * scale - base);
    store(scores + j, e);
    sum0 += e;
  }
  for (j = n; j < columns; ++j) scores[j] = 0;
  const float sum = sum_lanes<float>(sum0 + sum1);
  if (key == 0) {
    block.total[r] = sum;
  } else {
    const float shrink = exp_of(block.top[r] == kLowest ? kLowest : block.top[r] - base);
    block.total[r] = block.total[r] * shrink + sum;
    if (shrink != 1.0f) {
      for (int64_t i = 0; i < width; i += kL) store(sums + i, load<V>(sums + i) * shrink);
    }
  }
  block.top[r] = top;
}

void attend(const Attention& a, const PackedKeys& packed, QueryBlock& block, float* space,
            const HeadRows<float>& out, float* log_sums) {
  const int64_t kv = block.b * a.kv_heads + block.h / a.group;
  const float* keys = packed.keys.as<float>() + kv * packed.key_size;
  const float* values = packed.values.as<float>() + kv * packed.value_size;
  const int64_t sum_stride = packed.value_stride, sum_width = whole_vectors(a.value_width);
  float* q = space;
  float* sums = q + kQueryBlock * a.width;
  float* scores = sums + kQueryBlock * sum_stride;
  PaddedRows{q, a.width}.fill(a.q, block.b, block.h, block.query, block.rows, a.width);
  std::fill_n(block.top, block.rows, -std::numeric_limits<float>::infinity());
  const RowOffsets score_rows(kScoreStride), sum_rows(sum_stride);
  const int64_t end = a.causal ? smaller(a.keys, block.query + block.rows) : a.keys;
  for (int64_t key = 0; key < end; key += kKeyBlock) {
    const Square square{block.query, block.rows, key, smaller(kKeyBlock, end - key), a.causal};
    square.by_rows([&](int64_t first, int64_t rows, int64_t columns) {
      multiply_keys(rows, columns, q + first * a.width, a.width, a.width, keys + key * a.width,
                    scores, score_rows);
      for (int64_t r = 0; r < rows; ++r) {
        exponentials(a, block, first + r, key, square.seen(first + r), columns,
                     scores + r * kScoreStride, sums + (first + r) * sum_stride, sum_width);
      }
      Output<float> to;
      to.c = sums + first * sum_stride;
      to.accumulate = key > 0;
      multiply_block({Order::kRows, rows, columns, {scores, kScoreStride, kScoreStride},
                      values + key * sum_stride, sum_stride, kPanel, sum_rows.at, 0, sum_width},
                     to);
    });
  }
  const int64_t first = (block.b * a.heads() + block.h) * a.queries + block.query;
  for (int64_t r = 0; r < block.rows; ++r) {
    const float total = block.total[r], factor = total == 0 ? 0.0f : 1.0f / total;
    float* y = out.at(block.b, block.h, block.query + r);
    const float* from = sums + r * sum_stride;
    along<float>(a.value_width, [&](auto lane, int64_t i) {
      using V = typename decltype(lane)::type;
      store(y + i, load<V>(from + i) * factor);
    });
    // A blind query's is infinite: exp(score - it) then is 0 in the backward pass, as it must.
    if (log_sums != nullptr) {
      log_sums[first + r] = total == 0 ? std::numeric_limits<float>::infinity()
                                       : block.top[r] + std::log(total);
    }
  }
}

void attention(const Attention& a, HeadRows<float> out, float* log_sums) {
  const PackedKeys packed(a);
  const int64_t blocks = ceil_div(a.queries, kQueryBlock), heads = a.batch * a.heads();
  const int64_t space = kQueryBlock * (a.width + packed.value_stride) + kSameEnd * kScoreStride;
  const int64_t work = smaller(a.queries, kQueryBlock) * a.keys * (a.width + a.value_width);
  parallel_for(0, blocks * heads, kWorthAThread / (work + 1) + 1, [&](int64_t begin, int64_t end) {
    Scratch scratch(static_cast<size_t>(space) * sizeof(float));
    for (int64_t i = begin; i < end; ++i) {
      QueryBlock block;
      // Blocks of a head follow each other: its keys and values stay in the cache.
      block.b = i / blocks / a.heads();
      block.h = i / blocks % a.heads();
      block.query = i % blocks * kQueryBlock;
      block.rows = smaller(kQueryBlock, a.queries - block.query);
      attend(a, packed, block, scratch.as<float>(), out, log_sums);
    }
  });
}

}  // namespace

ZOO_REGISTER_CPU(attention_kernel, &attention);

}  // namespace zoo
