// Threads that work on one row together: a warp, or a whole block where rows are long. Every thread
// of a team calls the same functions in the same order, and gets the result.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"

namespace zoo::cuda {

struct Add {
  template <class T>
  __device__ T operator()(T a, T b) const { return a + b; }
};
// NaN is passed over: what is computed with it afterwards is NaN by itself.
struct Larger {
  template <class T>
  __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};

template <class T, class Join>
__device__ T join_warp(T v, Join join) {
  for (int step = kWarp / 2; step > 0; step /= 2) v = join(v, __shfl_xor_sync(kFullWarp, v, step));
  return v;
}

// kThreads is 32, and a block then has several teams, one for each threadIdx.y; or it is the size
// of the block.
template <int kThreads>
struct Team {
  static_assert(kThreads % kWarp == 0 && kThreads <= kWarp * kWarp);

  static __device__ int rank() { return static_cast<int>(threadIdx.x); }
  static __device__ int64_t row() {
    return static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  }

  template <class T, class Join>
  static __device__ T join(T v, Join with) {
    v = join_warp(v, with);
    if constexpr (kThreads > kWarp) {
      constexpr int kWarps = kThreads / kWarp;
      __shared__ T of_warp[kWarps];
      __syncthreads();  // an earlier result may still be read
      if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = v;
      __syncthreads();
      v = of_warp[0];
      for (int i = 1; i < kWarps; ++i) v = with(v, of_warp[i]);
    }
    return v;
  }
  template <class T>
  static __device__ T sum(T v) { return join(v, Add()); }
  template <class T>
  static __device__ T largest(T v) { return join(v, Larger()); }
};

// How rows of `width` elements are shared out: the size of a team as a type, and the launch.
inline constexpr int kTeamsInBlock = 4, kLongRow = 1024, kBlockTeam = 256;

struct RowLaunch {
  dim3 grid, block;
};

inline RowLaunch launch_for_rows(int64_t rows, int threads) {
  const int teams = threads == kWarp ? kTeamsInBlock : 1;
  return {dim3(static_cast<unsigned>((rows + teams - 1) / teams)),
          dim3(static_cast<unsigned>(threads), static_cast<unsigned>(teams))};
}

// Calls body(size of a team, launch) for rows of that width.
template <class F>
void with_teams(int64_t rows, int64_t width, F&& body) {
  if (width <= kLongRow) {
    body(std::integral_constant<int, kWarp>{}, launch_for_rows(rows, kWarp));
  } else {
    body(std::integral_constant<int, kBlockTeam>{}, launch_for_rows(rows, kBlockTeam));
  }
}

// Calls body with a 0 of the type: float32 or float64, those that networks are computed in.
template <class F>
void with_real(DType dtype, F&& body) {
  dtype == DType::kF64 ? body(double{}) : body(float{});
}

}  // namespace zoo::cuda
