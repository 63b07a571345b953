// The part of CUDA that engine/csrc/kernels/cuda uses, on the processor: for tests on machines
// without a GPU. Put this folder before CUDA's on the include path, define ZOO_CUDA_EMULATION and
// compile the .cu files as C++; emulation.cpp has what is not inline.
//
// Blocks run one after the other; the threads of a block are fibers that run until they reach a
// barrier. Checked on the way: divergent barriers; accesses beyond a block of device memory (each
// ends at a closed page); the host reading or writing device memory (it is open only while a kernel
// or a copy runs); with AddressSanitizer also shared memory; with ThreadSanitizer races between the
// threads of a block. ZOO_EMULATION_ORDER=reverse or a number runs threads and blocks in another
// order: results must not change.
#pragma once

#if !defined(ZOO_CUDA_EMULATION)
#error "this stands for CUDA in tests only: define ZOO_CUDA_EMULATION, or take it off the include path"
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/function_ref.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __constant__ static
#define __shared__ static  // one block runs at a time

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(8) int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

// Of the thread that runs.
inline uint3 threadIdx;
inline uint3 blockIdx;
inline dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace zoo_emulation {

inline constexpr int kMostThreads = 1024;

void launch_body(const char* name, dim3 grid, dim3 block, size_t shared_bytes,
                 zoo::FunctionRef<void()> body);
void* dynamic_shared();
void block_barrier();
// Of the threads of this warp that `mask` names; `what` for messages.
void warp_barrier(unsigned mask, const char* what);
int current_thread();       // number in its block
int threads_in_block();
uint64_t* exchange_slots();  // one a thread

template <class... P, class... A>
void launch(const char* name, dim3 grid, dim3 block, size_t shared_bytes, void (*kernel)(P...),
            const A&... arguments) {
  launch_body(name, grid, block, shared_bytes, [&] { kernel(P(arguments)...); });
}

// What the thread `source` of the block gave; every named thread of the warp calls this.
template <class T>
T exchange(unsigned mask, T value, int source, const char* what) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>, "shuffles move up to 8 bytes");
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  exchange_slots()[current_thread()] = bits;
  warp_barrier(mask, what);
  bits = exchange_slots()[source < threads_in_block() ? source : current_thread()];
  warp_barrier(mask, what);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
unsigned ballot(unsigned mask, bool truth);

}  // namespace zoo_emulation

// ---- inside kernels -----------------------------------------------------------------------------

inline void __syncthreads() { zoo_emulation::block_barrier(); }
inline void __syncwarp(unsigned mask = ~0u) { zoo_emulation::warp_barrier(mask, "__syncwarp"); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline int __syncthreads_or(int truth);
inline int __syncthreads_and(int truth);
inline int __syncthreads_count(int truth);

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const int me = zoo_emulation::current_thread(), lane = me % 32;
  return zoo_emulation::exchange(mask, value, me - lane + lane / width * width + source % width,
                                 "__shfl_sync");
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int me = zoo_emulation::current_thread(), lane = me % 32;
  const bool inside = lane % width + static_cast<int>(delta) < width;
  return zoo_emulation::exchange(mask, value, inside ? me + static_cast<int>(delta) : me,
                                 "__shfl_down_sync");
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int me = zoo_emulation::current_thread(), lane = me % 32;
  const bool inside = lane % width >= static_cast<int>(delta);
  return zoo_emulation::exchange(mask, value, inside ? me - static_cast<int>(delta) : me,
                                 "__shfl_up_sync");
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  const int me = zoo_emulation::current_thread(), lane = me % 32;
  const int other = lane ^ bits;
  const bool inside = other / width == lane / width;
  return zoo_emulation::exchange(mask, value, inside ? me - lane + other : me, "__shfl_xor_sync");
}
inline unsigned __ballot_sync(unsigned mask, int truth) {
  return zoo_emulation::ballot(mask, truth != 0);
}
inline int __any_sync(unsigned mask, int truth) { return __ballot_sync(mask, truth) != 0; }
inline int __all_sync(unsigned mask, int truth) { return __ballot_sync(mask, !truth) == 0; }

// Threads take turns, so plain reads and writes are atomic.
template <class T, class F>
__attribute__((no_sanitize("thread"))) T zoo_emulated_atomic(T* at, F next) {
  const T before = *at;
  *at = next(before);
  return before;
}
template <class T>
T atomicAdd(T* at, std::type_identity_t<T> v) {
  return zoo_emulated_atomic(at, [v](T old) { return static_cast<T>(old + v); });
}
template <class T>
T atomicMax(T* at, std::type_identity_t<T> v) {
  return zoo_emulated_atomic(at, [v](T old) { return old > v ? old : v; });
}
template <class T>
T atomicMin(T* at, std::type_identity_t<T> v) {
  return zoo_emulated_atomic(at, [v](T old) { return old < v ? old : v; });
}
template <class T>
T atomicOr(T* at, std::type_identity_t<T> v) {
  return zoo_emulated_atomic(at, [v](T old) { return static_cast<T>(old | v); });
}
template <class T>
T atomicExch(T* at, std::type_identity_t<T> v) {
  return zoo_emulated_atomic(at, [v](T) { return v; });
}
template <class T>
T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> v) {
  return zoo_emulated_atomic(at, [=](T old) { return old == expected ? v : old; });
}

template <class T>
T __ldg(const T* at) { return *at; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __int_as_float(int x) { float f; std::memcpy(&f, &x, sizeof f); return f; }
inline int __float_as_int(float x) { int i; std::memcpy(&i, &x, sizeof i); return i; }

inline int __syncthreads_count(int truth) {
  static int count;
  __syncthreads();
  count = 0;
  __syncthreads();
  atomicAdd(&count, truth != 0);
  __syncthreads();
  return count;
}
inline int __syncthreads_or(int truth) { return __syncthreads_count(truth) != 0; }
inline int __syncthreads_and(int truth) { return __syncthreads_count(!truth) == 0; }

// ---- on the host: the runtime, of a machine with two small GPUs -----------------------------------

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidDevice = 101,
  cudaErrorNotReady = 600
};
enum cudaMemcpyKind {
  cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
inline constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2;

struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem;
  int major, minor, multiProcessorCount;
};
using cudaStream_t = struct zoo_emulated_stream*;
using cudaEvent_t = struct zoo_emulated_event*;

const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* index);
cudaError_t cudaSetDevice(int index);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int index);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int index);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes);
cudaError_t cudaMalloc(void** data, size_t bytes);
cudaError_t cudaFree(void* data);
cudaError_t cudaMallocHost(void** data, size_t bytes);
cudaError_t cudaFreeHost(void* data);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemcpyPeerAsync(void* to, int to_index, const void* from, int from_index,
                                size_t bytes, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);
