// What the threads of a block find out together.
#pragma once

#include "kernels/cuda/launch.h"

namespace zoo::cuda {

// Combined in a fixed order: the same bits from run to run. The result is thread 0's. Every thread
// of the block calls this; blocks hold a multiple of 32 threads, at most 1024.
template <class Op, class Acc>
__device__ inline Acc reduce_block(Acc value) {
  for (int step = kWarp / 2; step > 0; step /= 2) {
    value = Op::combine(value, __shfl_down_sync(kFullWarp, value, static_cast<unsigned>(step)));
  }
  if (blockDim.x == kWarp) return value;
  __shared__ Acc of_warps[kWarp];
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  __syncthreads();  // an earlier call may still be read
  if (lane == 0) of_warps[warp] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < static_cast<int>(blockDim.x) / kWarp; ++w) {
      value = Op::combine(value, of_warps[w]);
    }
  }
  return value;
}

// Each thread's value combined with those of the threads before it; `total` is that of all.
template <class Op, class Acc>
__device__ inline Acc scan_block(Acc value, Acc& total) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int step = 1; step < kWarp; step *= 2) {
    const Acc before = __shfl_up_sync(kFullWarp, value, static_cast<unsigned>(step));
    if (lane >= step) value = Op::combine(before, value);
  }
  __shared__ Acc of_warps[kWarp];
  __syncthreads();
  if (lane == kWarp - 1) of_warps[warp] = value;
  __syncthreads();
  Acc before = Op::identity();
  total = Op::identity();
  for (int w = 0; w < static_cast<int>(blockDim.x) / kWarp; ++w) {
    if (w == warp) before = total;
    total = Op::combine(total, of_warps[w]);
  }
  return Op::combine(before, value);
}

}  // namespace zoo::cuda
