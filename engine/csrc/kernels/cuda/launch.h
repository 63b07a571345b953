// How kernels of this folder are written, so that the same file is compiled by nvcc for a GPU and,
// as plain C++ beside tests/gpu/emulation/cuda_runtime.h, for tests on a machine without one.
//
//   #include "kernels/cuda/launch.h"
//   namespace zoo::cuda {
//   namespace {
//   template <class T>
//   __global__ void scale(T* x, int64_t n, T factor) {
//     ZOO_DYNAMIC_SHARED(T, tile);            // the bytes that the launch asks for
//     __shared__ T partial[32];               // or of fixed size
//     for (int64_t i = thread_index(); i < n; i += thread_count()) x[i] *= factor;
//   }
//   void scale_cuda(DType dtype, double factor, void* x, int64_t n) {   // the table's signature
//     if (n == 0) return;                     // a grid of no blocks is an error
//     visit_floating(dtype, [&]<class T>() {
//       ZOO_LAUNCH(scale<T>, blocks_for(n), kThreads, 0, static_cast<T*>(x), n, T(factor));
//     });
//   }
//   }  // namespace
//   }  // namespace zoo::cuda
//   ZOO_REGISTER_CUDA(scale_kernel, &zoo::cuda::scale_cuda);    // at the end, outside namespaces
//
// - A kernel's name with commas stands in parentheses: ZOO_LAUNCH((f<A, B>), ...).
// - Pointers come from tensors of the device or from DeviceScratch; the host must not read them
//   (the emulation closes that memory to the host, so that a test crashes as a GPU would).
//   What the host must know comes through copy_to_host, which waits for the device: nothing for a
//   kernel that training calls. A table of the host's goes to the device with copy_to_device.
// - Everything goes to stream(), in order. Memory that is freed may be used again at once by what
//   follows in that stream.
// - Results must be the same from run to run: no atomicAdd of floats; partial results of fixed
//   blocks, combined in order, instead.
// - Half and BFloat16 (core/dtype.h) convert from and to float on both sides; arithmetic happens in
//   ComputeType<T>. Functions that kernels share are marked ZOO_HOST_DEVICE or __device__.
// - All threads of a block reach each __syncthreads() and, of a warp, each shuffle; the emulation
//   stops with a message where they do not. It runs one block at a time, threads in a fixed order:
//   it shows indexing, logic and races between threads, not speed or tensor-core instructions.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/runtime.h"

#if defined(ZOO_CUDA_EMULATION)

#define ZOO_LAUNCH(kernel, grid, block, shared_bytes, ...)                                      \
  ::zoo_emulation::launch(#kernel, dim3(grid), dim3(block), static_cast<size_t>(shared_bytes), \
                          (kernel) __VA_OPT__(, ) __VA_ARGS__)
#define ZOO_DYNAMIC_SHARED(type, name) \
  type* const name = static_cast<type*>(::zoo_emulation::dynamic_shared())

#else

#define ZOO_LAUNCH(kernel, grid, block, shared_bytes, ...)                                \
  do {                                                                                    \
    (kernel)<<<dim3(grid), dim3(block), static_cast<size_t>(shared_bytes),                \
               ::zoo::cuda::stream()>>>(__VA_ARGS__);                                     \
    ::zoo::cuda::check(cudaGetLastError(), #kernel);                                      \
  } while (false)
#define ZOO_DYNAMIC_SHARED(type, name)                                       \
  extern __shared__ __align__(16) unsigned char zoo_dynamic_shared_memory[]; \
  type* const name = reinterpret_cast<type*>(zoo_dynamic_shared_memory)

#endif

namespace zoo::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kFullWarp = 0xffffffffu;
inline constexpr int kThreads = 256;  // of a block, where nothing asks for another number

// Blocks of `threads` for n pieces of work; enough to fill any device, kernels loop over the rest.
inline unsigned blocks_for(int64_t n, int threads = kThreads) {
  constexpr int64_t kMostBlocks = 16384;
  return static_cast<unsigned>(std::clamp<int64_t>((n + threads - 1) / threads, 1, kMostBlocks));
}

// Number of this thread in a grid of one dimension, and how many there are.
__device__ inline int64_t thread_index() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline int64_t thread_count() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

}  // namespace zoo::cuda
