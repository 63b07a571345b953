// Weights become floats in registers on their way from memory, which sets the pace.
#include "kernels/quantized.h"

#include <algorithm>

#include "core/parallel.h"
#include "kernels/cpu/simd.h"

namespace zoo {
namespace {

using V = Vector<float>;
constexpr int64_t kL = kLanes<float>;

// kL bytes as that many numbers.
ZOO_INLINE Vector<int32_t> widen(const int8_t* p) {
#if ZOO_ISA_LEVEL >= 1  // one instruction, of which compilers make two and their shuffles
  Vector<int32_t> v;
  asm("vpmovsxbd %1, %0" : "=v"(v) : "m"(*reinterpret_cast<const int8_t(*)[kL]>(p)));
  return v;
#else
  const auto bytes = load<VectorN<int8_t, kL>>(p);
  return __builtin_convertvector(__builtin_convertvector(bytes, VectorN<int16_t, kL>),
                                 Vector<int32_t>);
#endif
}

ZOO_INLINE V weights_at(const int8_t* p) { return __builtin_convertvector(widen(p), V); }
ZOO_INLINE float weight_at(const int8_t* p) { return static_cast<float>(*p); }
// bfloat16 is the upper half of a float.
ZOO_INLINE V weights_at(const uint16_t* p) {
  const auto narrow = load<VectorN<uint16_t, kL>>(p);
  return std::bit_cast<V>(__builtin_convertvector(narrow, Vector<uint32_t>) << 16);
}
ZOO_INLINE float weight_at(const uint16_t* p) {
  return std::bit_cast<float>(static_cast<uint32_t>(*p) << 16);
}

// Each kind: decode(row, p, out) makes kStep weights, from p on, as kStep / kL vectors.
// One code a weight: bfloat16, or int8 with a scale for each row.
template <class Code>
struct CodeRows {
  static constexpr int64_t kStep = kL;
  const Code* codes;
  const float* scales;  // null for bfloat16
  int64_t width;

  explicit CodeRows(const QuantizedMatrix& m)
      : codes(static_cast<const Code*>(m.codes)),
        scales(static_cast<const float*>(m.scales)),
        width(m.width) {}
  ZOO_INLINE const Code* address(int64_t row, int64_t p) const { return codes + row * width + p; }
  ZOO_INLINE void decode(int64_t row, int64_t p, V* out) const { out[0] = weights_at(address(row, p)); }
  ZOO_INLINE float at(int64_t row, int64_t p) const { return weight_at(address(row, p)); }
  ZOO_INLINE float scale(int64_t row) const {
    return std::is_same_v<Code, int8_t> ? scales[row] : 1.0f;
  }
};

struct Int4Rows {
  static constexpr int64_t kStep = kInt4Group;
  const int8_t* codes;
  const uint16_t* scales;
  int64_t width;

  explicit Int4Rows(const QuantizedMatrix& m)
      : codes(static_cast<const int8_t*>(m.codes)),
        scales(static_cast<const uint16_t*>(m.scales)),
        width(m.width) {}
  ZOO_INLINE void decode(int64_t row, int64_t p, V* out) const {
    constexpr int kHalf = kInt4Group / 2 / kL;
    const int64_t group = group_of(row, p);
    const int8_t* from = codes + group * (kInt4Group / 2);
    const float scale = std::bit_cast<float>(static_cast<uint32_t>(scales[group]) << 16);
#if ZOO_ISA_LEVEL == 2  // a vector holds what each of the 16 nibbles stands for
    const V values = V{0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1} * scale;
    const auto bytes = widen(from);
    out[0] = __builtin_shuffle(values, bytes);  // by the lowest bits
    out[kHalf] = __builtin_shuffle(values, bytes >> 4);
#else
    unrolled<kHalf>([&](auto i) ZOO_ALWAYS {
      const auto bytes = widen(from + i * kL);
      out[i] = __builtin_convertvector((bytes << 28) >> 28, V) * scale;
      out[kHalf + i] = __builtin_convertvector(bytes >> 4, V) * scale;
    });
#endif
  }
  ZOO_INLINE float at(int64_t, int64_t) const { return 0; }  // there is nothing after whole groups
  ZOO_INLINE float scale(int64_t) const { return 1.0f; }
  ZOO_INLINE const void* address(int64_t row, int64_t p) const {
    return codes + group_of(row, p) * (kInt4Group / 2);
  }
  // Unsigned: a division is a shift then.
  ZOO_INLINE int64_t group_of(int64_t row, int64_t p) const {
    return static_cast<int64_t>(static_cast<uint64_t>(row * width + p) / kInt4Group);
  }
};

// Calls body(rows of the kind's type) for the kind of `m`.
template <class F>
ZOO_INLINE void by_kind(const QuantizedMatrix& m, F&& body) {
  switch (m.kind) {
    case QuantizedMatrix::Kind::kBF16: return body(CodeRows<uint16_t>(m));
    case QuantizedMatrix::Kind::kInt8: return body(CodeRows<int8_t>(m));
    case QuantizedMatrix::Kind::kInt4: return body(Int4Rows(m));
  }
}

struct Tokens {
  const float* x;
  int64_t count, width;
  const float* bias;
  float* y;
  int64_t y_stride;
};

// kT tokens, of which `count` exist, times kR rows of weights from `row` on.
template <class Rows, int kT, int kR>
[[gnu::noinline]] void dots(const Rows& w, int64_t row, const Tokens& t, int64_t token,
                            int64_t count) {
  constexpr int kVectors = Rows::kStep / kL;
  const float* x[kT];
  for (int i = 0; i < kT; ++i) x[i] = t.x + (token + (i < count ? i : 0)) * t.width;
  V sum[kT][kR];
  unrolled<kT>([&](auto i) ZOO_ALWAYS {
    unrolled<kR>([&](auto r) ZOO_ALWAYS { sum[i][r] = V{}; });
  });
  int64_t p = 0;
  for (; p + Rows::kStep <= t.width; p += Rows::kStep) {
    unrolled<kR>([&](auto r) ZOO_ALWAYS {
      // The rows after these, which the processor's own prefetching does not foresee.
      __builtin_prefetch(w.address(row + kR + r, p));
      V weights[kVectors];
      w.decode(row + r, p, weights);
      unrolled<kT>([&](auto i) ZOO_ALWAYS {
        unrolled<kVectors>([&](auto v) ZOO_ALWAYS {
          sum[i][r] += load<V>(x[i] + p + v * kL) * weights[v];
        });
      });
    });
  }
  unrolled<kT>([&](auto i) ZOO_ALWAYS {
    unrolled<kR>([&](auto r) ZOO_ALWAYS {
      if (i >= count) return;
      float total = sum_lanes<float>(sum[i][r]);
      for (int64_t k = p; k < t.width; ++k) total += x[i][k] * w.at(row + r, k);
      total *= w.scale(row + r);
      if (t.bias != nullptr) total += t.bias[row + r];
      t.y[(token + i) * t.y_stride + row + r] = total;
    });
  });
}

// All tokens, at most kFewTokens, times rows [first, last).
template <class Rows, int kT, int kR>
ZOO_INLINE void rows_product(const Rows& w, int64_t first, int64_t last, const Tokens& t) {
  int64_t row = first;
  for (; row + kR <= last; row += kR) dots<Rows, kT, kR>(w, row, t, 0, t.count);
  if constexpr (kR > 1) {
    for (; row < last; ++row) dots<Rows, kT, 1>(w, row, t, 0, t.count);
  }
}

void quantized_product(const QuantizedMatrix& m, const float* x, int64_t tokens, const float* bias,
                       float* y) {
  const Tokens t{x, tokens, m.width, bias, y, m.rows};
  by_kind(m, [&](auto w) {
    using Rows = decltype(w);
    constexpr int64_t kGroup = 4;  // rows begin at its multiples, whatever the threads
    parallel_for(0, (m.rows + kGroup - 1) / kGroup, 32768 / (kGroup * m.width) + 1,
                 [&](int64_t begin, int64_t end) {
      const int64_t first = begin * kGroup, last = std::min(m.rows, end * kGroup);
      if (tokens == 1) {
        rows_product<Rows, 1, 4>(w, first, last, t);
      } else if (tokens == 2) {
        rows_product<Rows, 2, 4>(w, first, last, t);
      } else if (tokens <= 4) {
        rows_product<Rows, 4, 2>(w, first, last, t);
      } else {
        rows_product<Rows, 8, 1>(w, first, last, t);
      }
    });
  });
}

void unpack_rows(const QuantizedMatrix& m, int64_t first, int64_t last, float* to) {
  by_kind(m, [&](auto w) {
    constexpr int64_t kStep = decltype(w)::kStep;
    for (int64_t row = first; row < last; ++row, to += m.width) {
      const float scale = w.scale(row);
      int64_t p = 0;
      for (; p + kStep <= m.width; p += kStep) {
        V weights[kStep / kL];
        w.decode(row, p, weights);
        unrolled<kStep / kL>([&](auto v) ZOO_ALWAYS { store(to + p + v * kL, weights[v] * scale); });
      }
      for (; p < m.width; ++p) to[p] = w.at(row, p) * scale;
    }
  });
}

}  // namespace

ZOO_REGISTER_CPU(quantized_product_kernel, &quantized_product);
ZOO_REGISTER_CPU(unpack_rows_kernel, &unpack_rows);

}  // namespace zoo
