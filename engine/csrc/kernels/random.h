// Filling memory with random numbers, and dropout. float32 and float64.
#pragma once

#include <cstdint>

#include "core/dispatch.h"
#include "core/dtype.h"
#include "core/random.h"

namespace zoo {

// Memory is filled in groups of 128 float32 or 64 float64; each group takes kGroupCounters
// counters. Element e of a group comes from word e / 32 of counter e % 32 (float64: from a pair of
// words).
inline constexpr int kGroupCounters = 32;
constexpr int64_t random_group(DType dtype) {
  return (dtype == DType::kF64 ? 2 : 4) * kGroupCounters;
}
constexpr uint64_t counters_for(DType dtype, int64_t n) {
  return static_cast<uint64_t>((n + random_group(dtype) - 1) / random_group(dtype)) *
         kGroupCounters;
}

enum class Distribution { kUniform, kNormal };
// kUniform: in [a, b), 24 random bits a float32 and 53 a float64. kNormal: mean a, deviation b,
// drawn again until within [low, high].
struct RandomFill {
  Distribution distribution = Distribution::kUniform;
  double a = 0, b = 1;
  double low = 0, high = 0;
  bool truncated = false;
};
extern Kernel<void(DType, RandomStream, const RandomFill&, void* out, int64_t n)>
    random_fill_kernel;

// y = x / (1 - p) with probability 1 - p, else x * 0. The same stream drops the same elements.
extern Kernel<void(DType, RandomStream, double p, const void* x, void* y, int64_t n)>
    dropout_kernel;

}  // namespace zoo
