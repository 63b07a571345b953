// Attention of a few queries, as in decoding: keys and values are read where they are, once, and
// memory sets the pace.
#include "core/allocator.h"
#include "core/parallel.h"
#include "kernels/attention.h"
#include "kernels/cpu/simd.h"

namespace zoo {
namespace {

// Keys that stay in the first-level cache while every query of the group meets them.
constexpr int64_t kTogether = 32;

// scores[j] = q . key j, four keys at a time: as many chains of additions.
ZOO_INLINE void dot_keys(int64_t width, const float* q, const float* keys, int64_t stride,
                         int64_t n, float* scores) {
  constexpr int kKeys = 4;
  constexpr int64_t kL = kLanes<float>;
  using V = Vector<float>;
  const auto some = [&]<int kN>(int64_t j) ZOO_ALWAYS {
    V sum[kN];
    unrolled<kN>([&](auto k) ZOO_ALWAYS { sum[k] = V{}; });
    const float* from = keys + j * stride;
    int64_t i = 0;
    for (; i + kL <= width; i += kL) {
      const V x = load<V>(q + i);
      unrolled<kN>([&](auto k) ZOO_ALWAYS { sum[k] += x * load<V>(from + k * stride + i); });
    }
    if (i < width) {
      const V x = load_first<V>(q + i, width - i);
      unrolled<kN>([&](auto k) ZOO_ALWAYS {
        sum[k] += x * load_first<V>(from + k * stride + i, width - i);
      });
    }
    unrolled<kN>([&](auto k) ZOO_ALWAYS { scores[j + k] = sum_lanes<float>(sum[k]); });
  };
  int64_t j = 0;
  for (; j + kKeys <= n; j += kKeys) some.template operator()<kKeys>(j);
  for (; j < n; ++j) some.template operator()<1>(j);
}

// sums[0..width) += weights[j] * value j.
ZOO_INLINE void add_values(int64_t width, const float* weights, const float* values,
                           int64_t stride, int64_t n, float* sums) {
  constexpr int kVectors = 4;
  constexpr int64_t kL = kLanes<float>;
  using V = Vector<float>;
  int64_t i = 0;
  for (; i + kVectors * kL <= width; i += kVectors * kL) {
    V sum[kVectors];
    unrolled<kVectors>([&](auto v) ZOO_ALWAYS { sum[v] = load<V>(sums + i + v * kL); });
    for (int64_t j = 0; j < n; ++j) {
      const float* from = values + j * stride + i;
      unrolled<kVectors>([&](auto v) ZOO_ALWAYS { sum[v] += load<V>(from + v * kL) * weights[j]; });
    }
    unrolled<kVectors>([&](auto v) ZOO_ALWAYS { store(sums + i + v * kL, sum[v]); });
  }
  if (i == width) return;
  for (int64_t j = 0; j < n; ++j) {
    const float* from = values + j * stride + i;
    along<float>(width - i, [&](auto lane, int64_t k) {
      using W = typename decltype(lane)::type;
      store(sums + i + k, load<W>(sums + i + k) + load<W>(from + k) * weights[j]);
    });
  }
}

// Products become scores, and those exponentials. Returns the logarithm of their sum and, in
// `factor`, what makes weights of them.
ZOO_INLINE float weigh(const Attention& a, int64_t b, int64_t h, int64_t query, float* scores,
                       float* factor) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const int64_t seen = a.causal && query + 1 < a.keys ? query + 1 : a.keys;
  const int64_t* stride = a.mask_stride;
  const int64_t first = b * stride[0] + h * stride[1] + query * stride[2];
  for (int64_t j = 0; j < a.keys; ++j) {
    float x = scores[j] * a.scale;
    if (a.mask != nullptr && a.mask_is_bool) {
      x = static_cast<const bool*>(a.mask)[first + j * stride[3]] ? x : kLowest;
    } else if (a.mask != nullptr) {
      x += static_cast<const float*>(a.mask)[first + j * stride[3]];
    }
    scores[j] = j < seen ? x : kLowest;
  }
  const float top = max_along(scores, a.keys);
  const float base = top == kLowest ? 0.0f : top;
  const double total = sum_along<float>(a.keys, [&](auto lane, int64_t j) {
    using V = typename decltype(lane)::type;
    const V e = exp_of(load<V>(scores + j) - base);
    store(scores + j, e);
    return e;
  });
  *factor = total == 0 ? 0.0f : static_cast<float>(1.0 / total);
  return total == 0 ? -kLowest : base + static_cast<float>(std::log(total));
}

void attention_few(const Attention& a, HeadRows<float> out, float* log_sums) {
  const int64_t rows = a.group * a.queries;  // that go past one head of keys
  const int64_t work = rows * a.keys * (a.width + a.value_width);
  parallel_for(0, a.batch * a.kv_heads, 65536 / (work + 1) + 1, [&](int64_t begin, int64_t end) {
    Scratch scratch(static_cast<size_t>(rows * (a.keys + a.value_width)) * sizeof(float));
    float* const scores = scratch.as<float>();
    float* const sums = scores + rows * a.keys;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / a.kv_heads, kv = i % a.kv_heads;
      const auto head = [&](int64_t r) { return kv * a.group + r / a.queries; };
      for (int64_t key = 0; key < a.keys; key += kTogether) {
        const int64_t n = a.keys - key < kTogether ? a.keys - key : kTogether;
        for (int64_t r = 0; r < rows; ++r) {
          dot_keys(a.width, a.q.at(b, head(r), r % a.queries), a.k.at(b, kv, key), a.k.row, n,
                   scores + r * a.keys + key);
        }
      }
      float factors[kFewQueries];
      for (int64_t r = 0; r < rows; ++r) {
        const float log_sum =
            weigh(a, b, head(r), r % a.queries, scores + r * a.keys, factors + r);
        if (log_sums != nullptr) {
          log_sums[(b * a.heads() + head(r)) * a.queries + r % a.queries] = log_sum;
        }
      }
      std::memset(sums, 0, static_cast<size_t>(rows * a.value_width) * sizeof(float));
      for (int64_t key = 0; key < a.keys; key += kTogether) {
        const int64_t n = a.keys - key < kTogether ? a.keys - key : kTogether;
        for (int64_t r = 0; r < rows; ++r) {
          add_values(a.value_width, scores + r * a.keys + key, a.v.at(b, kv, key), a.v.row, n,
                     sums + r * a.value_width);
        }
      }
      for (int64_t r = 0; r < rows; ++r) {
        float* y = out.at(b, head(r), r % a.queries);
        for (int64_t k = 0; k < a.value_width; ++k) y[k] = sums[r * a.value_width + k] * factors[r];
      }
    }
  });
}

}  // namespace

ZOO_REGISTER_CPU(attention_few_kernel, &attention_few);

}  // namespace zoo
