// Random numbers that are the same on every machine: integer arithmetic, and floating-point
// operations that IEEE 754 defines to the last bit (so no library functions, and the build keeps
// the compiler from fusing multiplications with additions in this file).
#include "kernels/random.h"

#include "core/parallel.h"
#include "kernels/cpu/box_muller.h"
#include "kernels/cpu/row_vector.h"

namespace zoo {
namespace {

constexpr int kCounters = kGroupCounters;
constexpr int kFloats = 4 * kCounters, kDoubles = 2 * kCounters;  // in a group
// Groups a thread takes at least.
constexpr int64_t kGrain = 64;

struct Words {
  uint32_t w[4][kCounters];
};

// `attempt` selects another sequence of the same length, for numbers that are drawn again.
ZOO_INLINE void draw(Words& words, RandomStream s, int64_t group, uint32_t attempt) {
  const uint64_t first = s.offset + static_cast<uint64_t>(group) * kCounters;
  for (int i = 0; i < kCounters; ++i) {
    words.w[0][i] = static_cast<uint32_t>(first + static_cast<uint64_t>(i));
    words.w[1][i] = static_cast<uint32_t>((first + static_cast<uint64_t>(i)) >> 32);
    words.w[2][i] = attempt;
    words.w[3][i] = 0;
  }
  philox(words.w[0], words.w[1], words.w[2], words.w[3], s.seed);
}

ZOO_INLINE uint64_t bits53(const Words& words, int pair, int i) {
  return (uint64_t{words.w[2 * pair][i]} << 32 | words.w[2 * pair + 1][i]) >> 11;
}

ZOO_INLINE void uniform(const Words& words, float (&u)[kFloats]) {
  for (int k = 0; k < 4; ++k) {
    for (int i = 0; i < kCounters; ++i) {
      u[k * kCounters + i] =
          static_cast<float>(static_cast<int32_t>(words.w[k][i] >> 8)) * 0x1p-24f;
    }
  }
}

ZOO_INLINE void uniform(const Words& words, double (&u)[kDoubles]) {
  for (int k = 0; k < 2; ++k) {
    for (int i = 0; i < kCounters; ++i) {
      u[k * kCounters + i] =
          static_cast<double>(static_cast<int64_t>(bits53(words, k, i))) * 0x1p-53;
    }
  }
}

// Words 0 and 1 of each counter give two numbers, words 2 and 3 two more.
ZOO_INLINE void normal(const Words& words, double (&z)[kFloats]) {
  for (int k = 0; k < 4; k += 2) {
    for (int i = 0; i < kCounters; ++i) {
      const uint32_t w = words.w[k + 1][i];
      box_muller((static_cast<double>(words.w[k][i]) + 0.5) * 0x1p-32, w >> 30,
                 (static_cast<double>(w & 0x3fffffffu) + 0.5) * 0x1p-30 - 0.5, z[k * kCounters + i],
                 z[(k + 1) * kCounters + i]);
    }
  }
}

ZOO_INLINE void normal(const Words& words, double (&z)[kDoubles]) {
  for (int i = 0; i < kCounters; ++i) {
    const int64_t angle = static_cast<int64_t>(bits53(words, 1, i));
    constexpr int64_t kMask = (int64_t{1} << 51) - 1;
    box_muller((static_cast<double>(static_cast<int64_t>(bits53(words, 0, i))) + 0.5) * 0x1p-53,
               static_cast<uint64_t>(angle >> 51),
               (static_cast<double>(angle & kMask) + 0.5) * 0x1p-51 - 0.5, z[i], z[kCounters + i]);
  }
}

template <class T, int N>
ZOO_INLINE void fill_group(RandomStream s, const RandomFill& f, int64_t group, T (&out)[N]) {
  Words words;
  draw(words, s, group, 0);
  if (f.distribution == Distribution::kUniform) {
    uniform(words, out);
    if (f.a == 0 && f.b == 1) return;
    const T a = static_cast<T>(f.a), b = static_cast<T>(f.b), span = b - a;
    for (int i = 0; i < N; ++i) {
      const T v = a + span * out[i];
      out[i] = v < b ? v : a;  // rounding may reach b
    }
    return;
  }
  double z[N];
  normal(words, z);
  for (int i = 0; i < N; ++i) out[i] = static_cast<T>(f.a + f.b * z[i]);
  if (!f.truncated) return;
  const T low = static_cast<T>(f.low), high = static_cast<T>(f.high);
  for (uint32_t attempt = 1;; ++attempt) {
    bool again = false;
    for (int i = 0; i < N; ++i) again |= !(out[i] >= low && out[i] <= high);
    if (!again) return;
    draw(words, s, group, attempt);
    normal(words, z);
    for (int i = 0; i < N; ++i) {
      if (!(out[i] >= low && out[i] <= high)) out[i] = static_cast<T>(f.a + f.b * z[i]);
    }
  }
}

template <class T, int N>
void fill(RandomStream s, const RandomFill& f, T* out, int64_t n) {
  parallel_for(0, (n + N - 1) / N, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      T values[N];
      fill_group(s, f, group, values);
      const int64_t count = n - group * N < N ? n - group * N : N;
      std::memcpy(out + group * N, values, static_cast<size_t>(count) * sizeof(T));
    }
  });
}

template <class T>
void dropout(RandomStream s, double p, const T* x, T* y, int64_t n) {
  constexpr int N = kFloats;
  parallel_for(0, (n + N - 1) / N, kGrain, [&](int64_t begin, int64_t end) {
    // An element is dropped if its word is below p * 2^32; p = 1 drops the rest by its scale.
    const uint32_t threshold = p < 1 ? static_cast<uint32_t>(p * 0x1p32) : 0;
    const T scale = p < 1 ? static_cast<T>(1.0 / (1.0 - p)) : T(0);
    for (int64_t group = begin; group < end; ++group) {
      Words words;
      draw(words, s, group, 0);
      T factor[N];
      for (int k = 0; k < 4; ++k) {
        for (int i = 0; i < kCounters; ++i) {
          factor[k * kCounters + i] = words.w[k][i] >= threshold ? scale : T(0);
        }
      }
      const int64_t at = group * N;
      const int64_t count = n - at < N ? n - at : N;
      along<T>(count, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::type;
        store(y + at + i, load<V>(x + at + i) * load<V>(factor + i));
      });
    }
  });
}

void random_fill(DType dtype, RandomStream s, const RandomFill& f, void* out, int64_t n) {
  if (dtype == DType::kF64) {
    fill<double, kDoubles>(s, f, static_cast<double*>(out), n);
  } else {
    fill<float, kFloats>(s, f, static_cast<float*>(out), n);
  }
}

void dropout_cpu(DType dtype, RandomStream s, double p, const void* x, void* y, int64_t n) {
  if (dtype == DType::kF64) {
    dropout(s, p, static_cast<const double*>(x), static_cast<double*>(y), n);
  } else {
    dropout(s, p, static_cast<const float*>(x), static_cast<float*>(y), n);
  }
}

}  // namespace

ZOO_REGISTER_CPU(random_fill_kernel, &random_fill);
ZOO_REGISTER_CPU(dropout_kernel, &dropout_cpu);

}  // namespace zoo
