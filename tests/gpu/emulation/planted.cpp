// Kernels with a fault each, to see that the emulation finds it; and one without. Run as
// `planted NAME`; tests/gpu/test_emulation.py says what each must end with.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define LAUNCH(kernel, blocks, threads, shared, ...) \
  zoo_emulation::launch(#kernel, blocks, threads, shared, kernel, __VA_ARGS__)

namespace {

constexpr int kThreads = 64, kCount = 100;

__global__ void sum(const float* x, int n, float* out) {
  float total = 0;
  for (int i = static_cast<int>(threadIdx.x); i < n; i += kThreads) total += x[i];
  for (int step = 16; step > 0; step /= 2) {
    total += __shfl_down_sync(~0u, total, static_cast<unsigned>(step));
  }
  __shared__ float of_warps[2];
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = total;
  __syncthreads();
  if (threadIdx.x == 0) *out = of_warps[0] + of_warps[1];
}

// One thread too many.
__global__ void beyond(float* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i <= n) x[i] = 1;
}

__global__ void in_front(float* x) {
  if (threadIdx.x == 0) x[-1] = 1;
}

__global__ void beyond_shared(float* out) {
  float* tile = static_cast<float*>(zoo_emulation::dynamic_shared());
  tile[threadIdx.x + 1] = 1;
  if (threadIdx.x == 0) *out = tile[0];
}

__global__ void diverging(float* out) {
  if (threadIdx.x < 7) __syncthreads();
  if (threadIdx.x >= 7) __shfl_sync(~0u, 1.0f, 0);
  *out = 1;
}

// No __syncthreads() between writing and reading what another thread wrote.
__global__ void racing(float* out) {
  __shared__ float tile[kThreads];
  tile[threadIdx.x] = static_cast<float>(threadIdx.x);
  out[threadIdx.x] = tile[(threadIdx.x + 1) % kThreads];
}

float* on_device(int count) {
  void* data = nullptr;
  if (cudaMalloc(&data, sizeof(float) * static_cast<size_t>(count)) != cudaSuccess) std::abort();
  return static_cast<float*>(data);
}

void run(const char* name) {
  float* x = on_device(kCount);
  float* out = on_device(kThreads);
  float ones[kCount], result[kThreads] = {};
  for (float& v : ones) v = 1;
  cudaMemcpyAsync(x, ones, sizeof ones, cudaMemcpyHostToDevice, nullptr);
  const auto is = [name](const char* other) { return std::strcmp(name, other) == 0; };
  if (is("sum")) LAUNCH(sum, 1, kThreads, 0, x, kCount, out);
  if (is("beyond")) LAUNCH(beyond, 2, kThreads, 0, x, kCount);
  if (is("in_front")) LAUNCH(in_front, 1, kThreads, 0, x);
  if (is("beyond_shared")) LAUNCH(beyond_shared, 1, kThreads, sizeof(float) * kThreads, out);
  if (is("diverging")) LAUNCH(diverging, 1, kThreads, 0, out);
  if (is("racing")) LAUNCH(racing, 1, kThreads, 0, out);
  if (is("host_access")) std::printf("%f\n", static_cast<double>(x[0]));
  cudaMemcpyAsync(result, out, sizeof result, cudaMemcpyDeviceToHost, nullptr);
  double total = 0;
  for (int i = 0; i < (is("racing") ? kThreads : 1); ++i) total += static_cast<double>(result[i]);
  std::printf("%s %g\n", name, total);
  cudaFree(x);
  cudaFree(out);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  run(argv[1]);
  return 0;
}
