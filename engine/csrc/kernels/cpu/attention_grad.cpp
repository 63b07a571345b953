// Attention, backward: scores are computed again, block by block (Dao et al., arXiv:2205.14135).
// With P the weights, S the scores before the scale and o the result,
//   dV = P^T do,  dP = do V^T,  dS = scale P (dP - rowsum(do o)),  dQ = dS K,  dK = dS^T Q.
#include "kernels/cpu/attention_block.h"

namespace zoo {
namespace {

constexpr int64_t kKeyBlock = 192;
static_assert(kKeyBlock % kPanel == 0 && kKeyBlock <= kMaxDepth && kKeyBlock % kSameEnd == 0);
constexpr int64_t kScoreStride = kKeyBlock + 16;  // an odd number of cache lines
// One task takes the keys of a part of a head; each part has its own sum for the queries'
// gradients. Parts depend on the shape alone.
constexpr int64_t kMaxParts = 4;

// Copies of everything as tiles read it, and sums of the gradient of the queries.
struct Workspace {
  const Attention& a;
  const AttentionGrad& g;
  int64_t width, value_width;  // padded to panels
  int64_t part, parts;         // keys of a part, and how many parts
  Scratch q, grad, dots, grad_q;  // by head
  Scratch k, kt, vt;              // by head of keys; kt, vt: transposed

  static Scratch floats(int64_t n) { return Scratch(static_cast<size_t>(n) * sizeof(float)); }

  Workspace(const Attention& attention, const AttentionGrad& gradient)
      : a(attention),
        g(gradient),
        width(round_up(a.width, kPanel)),
        value_width(round_up(a.value_width, kPanel)),
        part(round_up(ceil_div(a.keys, kMaxParts), kKeyBlock)),
        parts(ceil_div(a.keys, part)),
        q(floats(a.batch * a.heads() * a.queries * width)),
        grad(floats(a.batch * a.heads() * a.queries * value_width)),
        dots(floats(a.batch * a.heads() * a.queries)),
        grad_q(floats(parts * a.batch * a.heads() * a.queries * width)),
        k(floats(a.batch * a.kv_heads * a.keys * width)),
        kt(floats(a.batch * a.kv_heads * padded_keys() * a.width)),
        vt(floats(a.batch * a.kv_heads * padded_keys() * a.value_width)) {}

  int64_t padded_keys() const { return round_up(a.keys, kPanel); }

  void fill() const {
    const int64_t heads = a.batch * a.heads(), kv_heads = a.batch * a.kv_heads;
    parallel_for(0, heads + kv_heads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) i < heads ? fill_queries(i) : fill_keys(i - heads);
    });
  }

  void fill_queries(int64_t i) const {
    const int64_t b = i / a.heads(), h = i % a.heads(), first = i * a.queries;
    PaddedRows{q.as<float>() + first * width, width}.fill(a.q, b, h, 0, a.queries, a.width);
    PaddedRows{grad.as<float>() + first * value_width, value_width}.fill(g.grad, b, h, 0,
                                                                         a.queries, a.value_width);
    for (int64_t r = 0; r < a.queries; ++r) {
      const float* x = g.grad.at(b, h, r);
      const float* y = g.out.at(b, h, r);
      dots.as<float>()[first + r] =
          static_cast<float>(sum_along<float>(a.value_width, [&](auto lane, int64_t j) {
            using V = typename decltype(lane)::type;
            return load<V>(x + j) * load<V>(y + j);
          }));
    }
  }

  void fill_keys(int64_t i) const {
    const int64_t b = i / a.kv_heads, h = i % a.kv_heads;
    PaddedRows{k.as<float>() + i * a.keys * width, width}.fill(a.k, b, h, 0, a.keys, a.width);
    transpose_rows(kt.as<float>() + i * padded_keys() * a.width, a.k, b, h, a.keys, a.width);
    transpose_rows(vt.as<float>() + i * padded_keys() * a.value_width, a.v, b, h, a.keys,
                   a.value_width);
  }
};

// Products with keys and values become weights and gradients of scores. Columns from `seen` to
// `columns` become 0.
ZOO_INLINE void weights_and_grads(float scale, float log_sum, float dot, float grad_scale,
                                  int64_t seen, int64_t columns, float* scores, float* grads) {
  using V = Vector<float>;
  constexpr int64_t kL = kLanes<float>;
  for (int64_t j = 0; j < seen; j += kL) {
    // A score is above the logarithm of the sum by rounding errors only.
    const V p = exp_below(load<V>(scores + j) * scale - log_sum);
    store(scores + j, p);
    store(grads + j, p * (load<V>(grads + j) - dot) * grad_scale);
  }
  const size_t rest = static_cast<size_t>(whole_vectors(columns) - seen) * sizeof(float);
  std::memset(scores + seen, 0, rest);
  std::memset(grads + seen, 0, rest);
}

// What a task works with, besides the workspace: all of it fits the second-level cache.
struct Buffers {
  Scratch memory;
  float *scores, *grads, *grad_k, *grad_v;
  RowOffsets score_rows{kScoreStride}, rows, value_rows;

  explicit Buffers(const Workspace& w)
      : memory(Workspace::floats(2 * kQueryBlock * kScoreStride +
                                 kKeyBlock * (w.width + w.value_width))),
        scores(memory.as<float>()),
        grads(scores + kQueryBlock * kScoreStride),
        grad_k(grads + kQueryBlock * kScoreStride),
        grad_v(grad_k + kKeyBlock * w.width),
        rows(w.width),
        value_rows(w.value_width) {}
};

// c (keys, width) += left^T right, with left (queries, keys) a block of weights or of their
// gradients, right (queries, width) and no row of left that sees none of the keys.
ZOO_INLINE void add_transposed(const Square& s, const float* left, const float* right,
                               int64_t width, int64_t columns, float* c,
                               const RowOffsets& offsets) {
  const int64_t step = s.cut() ? kSameEnd : s.columns;
  for (int64_t j = 0; j < s.columns; j += step) {
    const int64_t keys = smaller(step, s.columns - j);
    const int64_t skip = s.causal ? larger(0, s.key + j - s.query) : 0;
    if (skip >= s.rows) return;
    Output<float> out;
    out.c = c + j * width;
    out.accumulate = true;
    multiply_block({Order::kColumns, keys, s.rows - skip,
                    {left + skip * kScoreStride + j, 1, kScoreStride}, right + skip * width, width,
                    kPanel, offsets.at, 0, columns},
                   out);
  }
}

// One block of queries meets one block of keys.
void meet(const Workspace& w, const Square& s, int64_t b, int64_t h, float* grad_q, Buffers& t) {
  const Attention& a = w.a;
  const int64_t kv = b * a.kv_heads + h / a.group, first = (b * a.heads() + h) * a.queries + s.query;
  const float* q = w.q.as<float>() + first * w.width;
  const float* grad = w.grad.as<float>() + first * w.value_width;
  const float* kt = w.kt.as<float>() + (kv * w.padded_keys() + s.key) * a.width;
  const float* vt = w.vt.as<float>() + (kv * w.padded_keys() + s.key) * a.value_width;
  const float* k = w.k.as<float>() + (kv * a.keys + s.key) * w.width;
  s.by_rows([&](int64_t from, int64_t rows, int64_t columns) {
    multiply_keys(rows, columns, q + from * w.width, w.width, a.width, kt,
                  t.scores + from * kScoreStride, t.score_rows);
    multiply_keys(rows, columns, grad + from * w.value_width, w.value_width, a.value_width, vt,
                  t.grads + from * kScoreStride, t.score_rows);
    const int64_t read = smaller(s.columns, round_up(columns, kSameEnd));  // by add_transposed
    for (int64_t r = from; r < from + rows; ++r) {
      float* scores = t.scores + r * kScoreStride;
      float scale = a.scale;
      if (a.mask != nullptr) {
        apply_mask(a, b, h, s.query + r, s.key, s.seen(r), scores);
        scale = 1;
      }
      weights_and_grads(scale, w.g.log_sums[first + r], w.dots.as<float>()[first + r], a.scale,
                        s.seen(r), read, scores, t.grads + r * kScoreStride);
    }
    Output<float> out;
    out.c = grad_q + (s.query + from) * w.width;
    out.accumulate = true;
    multiply_block({Order::kRows, rows, columns,
                    {t.grads + from * kScoreStride, kScoreStride, kScoreStride}, k, w.width, kPanel,
                    t.rows.at, 0, whole_vectors(a.width)},
                   out);
  });
  add_transposed(s, t.scores, grad, w.value_width, whole_vectors(a.value_width), t.grad_v,
                 t.value_rows);
  add_transposed(s, t.grads, q, w.width, whole_vectors(a.width), t.grad_k, t.rows);
}

// Part `p` of the keys of one head, against all queries that see any of them.
void go_past(const Workspace& w, int64_t b, int64_t kv, int64_t p, Buffers& t) {
  const Attention& a = w.a;
  const int64_t heads = a.batch * a.heads(), first = b * a.heads() + kv * a.group;
  float* const grad_q = w.grad_q.as<float>() + (p * heads + first) * a.queries * w.width;
  zero_row(grad_q, a.group * a.queries * w.width);
  const int64_t end = smaller(a.keys, (p + 1) * w.part);
  for (int64_t key = p * w.part; key < end; key += kKeyBlock) {
    const int64_t keys = smaller(kKeyBlock, end - key);
    zero_row(t.grad_k, kKeyBlock * w.width);
    zero_row(t.grad_v, kKeyBlock * w.value_width);
    for (int64_t h = 0; h < a.group; ++h) {
      for (int64_t query = a.causal ? key : 0; query < a.queries; query += kQueryBlock) {
        const int64_t rows = smaller(kQueryBlock, a.queries - query);
        meet(w, {query, rows, key, keys, a.causal}, b, kv * a.group + h,
             grad_q + h * a.queries * w.width, t);
      }
    }
    for (int64_t r = 0; r < keys; ++r) {
      copy_row(w.g.grad_k.at(b, kv, key + r), t.grad_k + r * w.width, a.width);
      copy_row(w.g.grad_v.at(b, kv, key + r), t.grad_v + r * w.value_width, a.value_width);
    }
  }
}

void attention_grad(const Attention& a, const AttentionGrad& g) {
  const Workspace w(a, g);
  w.fill();
  const int64_t tasks = a.batch * a.kv_heads * w.parts;
  parallel_for(0, tasks, 1, [&](int64_t begin, int64_t end) {
    Buffers buffers(w);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t head = i / w.parts;
      go_past(w, head / a.kv_heads, head % a.kv_heads, i % w.parts, buffers);
    }
  });
  const int64_t rows = a.batch * a.heads() * a.queries;
  parallel_for(0, rows, 16384 / (a.width * w.parts) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t head = i / a.queries;
      float* to = g.grad_q.at(head / a.heads(), head % a.heads(), i % a.queries);
      const float* from = w.grad_q.as<float>() + i * w.width;
      along<float>(a.width, [&](auto lane, int64_t j) {
        using V = typename decltype(lane)::type;
        V sum = load<V>(from + j);
        for (int64_t p = 1; p < w.parts; ++p) sum += load<V>(from + p * rows * w.width + j);
        store(to + j, sum);
      });
    }
  });
}

}  // namespace

ZOO_REGISTER_CPU(attention_grad_kernel, &attention_grad);

}  // namespace zoo
