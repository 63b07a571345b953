// Random numbers, bit for bit those of kernels/cpu/random.cpp: the same counters, and floating-point
// operations that IEEE 754 defines. The build keeps nvcc from fusing them (-fmad=false, this file).
#include "kernels/random.h"

#include "kernels/cpu/box_muller.h"
#include "kernels/cuda/launch.h"

namespace zoo::cuda {
namespace {

struct Words {
  uint32_t w[4];
};

// The words of one counter; `attempt` selects another sequence, for numbers drawn again.
__device__ inline Words draw(RandomStream s, int64_t counter, uint32_t attempt) {
  const uint64_t at = s.offset + static_cast<uint64_t>(counter);
  uint32_t c0[1] = {static_cast<uint32_t>(at)}, c1[1] = {static_cast<uint32_t>(at >> 32)};
  uint32_t c2[1] = {attempt}, c3[1] = {0};
  philox(c0, c1, c2, c3, s.seed);
  return {{c0[0], c1[0], c2[0], c3[0]}};
}

__device__ inline uint64_t bits53(const Words& words, int pair) {
  return (uint64_t{words.w[2 * pair]} << 32 | words.w[2 * pair + 1]) >> 11;
}

// What a counter gives: 4 floats or 2 doubles.
template <class T>
inline constexpr int kPerCounter = sizeof(T) == 4 ? 4 : 2;

__device__ inline void uniform(const Words& words, float (&u)[4]) {
  for (int k = 0; k < 4; ++k) {
    u[k] = static_cast<float>(static_cast<int32_t>(words.w[k] >> 8)) * 0x1p-24f;
  }
}
__device__ inline void uniform(const Words& words, double (&u)[2]) {
  for (int k = 0; k < 2; ++k) {
    u[k] = static_cast<double>(static_cast<int64_t>(bits53(words, k))) * 0x1p-53;
  }
}

__device__ inline void normal(const Words& words, double (&z)[4]) {
  for (int k = 0; k < 4; k += 2) {
    const uint32_t w = words.w[k + 1];
    box_muller((static_cast<double>(words.w[k]) + 0.5) * 0x1p-32, w >> 30,
               (static_cast<double>(w & 0x3fffffffu) + 0.5) * 0x1p-30 - 0.5, z[k], z[k + 1]);
  }
}
__device__ inline void normal(const Words& words, double (&z)[2]) {
  const int64_t angle = static_cast<int64_t>(bits53(words, 1));
  constexpr int64_t kMask = (int64_t{1} << 51) - 1;
  box_muller((static_cast<double>(static_cast<int64_t>(bits53(words, 0))) + 0.5) * 0x1p-53,
             static_cast<uint64_t>(angle >> 51),
             (static_cast<double>(angle & kMask) + 0.5) * 0x1p-51 - 0.5, z[0], z[1]);
}

template <class T>
__device__ inline void values_of(RandomStream s, const RandomFill& f, int64_t counter,
                                 T (&out)[kPerCounter<T>]) {
  constexpr int N = kPerCounter<T>;
  const Words words = draw(s, counter, 0);
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
    for (int i = 0; i < N; ++i) again = again || !(out[i] >= low && out[i] <= high);
    if (!again) return;
    normal(draw(s, counter, attempt), z);
    for (int i = 0; i < N; ++i) {
      if (!(out[i] >= low && out[i] <= high)) out[i] = static_cast<T>(f.a + f.b * z[i]);
    }
  }
}

// Element k of counter i of a group is the group's element k * 32 + i.
__device__ inline int64_t place_of(int64_t counter, int k, int per_counter) {
  const int64_t group = counter / kGroupCounters, i = counter % kGroupCounters;
  return (group * per_counter + k) * kGroupCounters + i;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    fill_random(RandomStream s, RandomFill f, T* out, int64_t n, int64_t counters) {
  for (int64_t c = thread_index(); c < counters; c += thread_count()) {
    T values[kPerCounter<T>];
    values_of(s, f, c, values);
    for (int k = 0; k < kPerCounter<T>; ++k) {
      const int64_t at = place_of(c, k, kPerCounter<T>);
      if (at < n) out[at] = values[k];
    }
  }
}

void random_fill_cuda(DType dtype, RandomStream s, const RandomFill& f, void* out, int64_t n) {
  if (n == 0) return;
  const auto counters = static_cast<int64_t>(counters_for(dtype, n));
  if (dtype == DType::kF64) {
    ZOO_LAUNCH(fill_random<double>, blocks_for(counters), kThreads, 0, s, f,
               static_cast<double*>(out), n, counters);
  } else {
    ZOO_LAUNCH(fill_random<float>, blocks_for(counters), kThreads, 0, s, f, static_cast<float*>(out),
               n, counters);
  }
}

// An element is dropped if its word is below the threshold.
template <class T>
__global__ void __launch_bounds__(kThreads)
    drop(RandomStream s, uint32_t threshold, T scale, const T* x, T* y, int64_t n, int64_t counters) {
  for (int64_t c = thread_index(); c < counters; c += thread_count()) {
    const Words words = draw(s, c, 0);
    for (int k = 0; k < 4; ++k) {
      const int64_t at = place_of(c, k, 4);
      if (at < n) y[at] = x[at] * (words.w[k] >= threshold ? scale : T(0));
    }
  }
}

void dropout_cuda(DType dtype, RandomStream s, double p, const void* x, void* y, int64_t n) {
  if (n == 0) return;
  const auto counters = static_cast<int64_t>(counters_for(DType::kF32, n));
  const uint32_t threshold = p < 1 ? static_cast<uint32_t>(p * 0x1p32) : 0;
  const double scale = p < 1 ? 1.0 / (1.0 - p) : 0.0;  // p = 1 drops the rest by its scale
  if (dtype == DType::kF64) {
    ZOO_LAUNCH(drop<double>, blocks_for(counters), kThreads, 0, s, threshold, scale,
               static_cast<const double*>(x), static_cast<double*>(y), n, counters);
  } else {
    ZOO_LAUNCH(drop<float>, blocks_for(counters), kThreads, 0, s, threshold,
               static_cast<float>(scale), static_cast<const float*>(x), static_cast<float*>(y), n,
               counters);
  }
}

}  // namespace
}  // namespace zoo::cuda

ZOO_REGISTER_CUDA(random_fill_kernel, &zoo::cuda::random_fill_cuda);
ZOO_REGISTER_CUDA(dropout_kernel, &zoo::cuda::dropout_cuda);
