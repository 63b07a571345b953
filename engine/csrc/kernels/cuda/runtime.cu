// Devices, streams, copies, and the one symbol through which the core finds all of it.
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/errors.h"
#include "kernels/cuda/launch.h"

namespace zoo::cuda {

MemoryStats memory_stats(int index);
void reset_peak_memory_stats(int index);
void empty_cache(int index);

namespace {

thread_local int tl_device = -1;                        // none chosen yet
thread_local cudaStream_t tl_streams[kMostDevices] = {};  // null: the library's own

cudaStream_t own_stream(int index) {
  static std::mutex* mutex = new std::mutex;
  static cudaStream_t streams[kMostDevices] = {};
  std::lock_guard lock(*mutex);
  if (streams[index] == nullptr) {
    check(cudaStreamCreateWithFlags(&streams[index], cudaStreamNonBlocking), "making a stream");
  }
  return streams[index];
}

std::vector<KernelEntry>& entries() {
  static auto* list = new std::vector<KernelEntry>;
  return *list;
}

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return std::min(count, kMostDevices);
}

void describe(int index, DeviceInfo* info) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, index), "asking for a device's properties");
  std::snprintf(info->name, sizeof info->name, "%s", properties.name);
  info->major = properties.major;
  info->minor = properties.minor;
  info->multiprocessors = properties.multiProcessorCount;
  use_device(index);
  size_t free_bytes = 0, total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for a device's memory");
  info->free_bytes = static_cast<int64_t>(free_bytes);
  info->total_bytes = static_cast<int64_t>(total_bytes);
}

void synchronize(int index) {
  use_device(index);
  check(cudaDeviceSynchronize(), "waiting for the device");
}

void copy(void* to, int to_index, const void* from, int from_index, size_t bytes) {
  if (to_index >= 0 && from_index >= 0 && to_index != from_index) {
    synchronize(to_index);  // what still uses the place it goes to
    use_device(from_index);
    check(cudaMemcpyPeerAsync(to, to_index, from, from_index, bytes, stream()),
          "a copy between devices");
    check(cudaStreamSynchronize(stream()), "a copy between devices");
    return;
  }
  use_device(to_index >= 0 ? to_index : from_index);
  if (to_index < 0) return copy_to_host(to, from, bytes);
  if (from_index < 0) return copy_to_device(to, from, bytes);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream()), "a copy");
}

}  // namespace

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) [[likely]] return;
  throw std::runtime_error(
      concat_text("CUDA: ", what, ": ", cudaGetErrorString(error), " (", cudaGetErrorName(error), ")"));
}

int current_device() {
  if (tl_device < 0) use_device(0);
  return tl_device;
}

void use_device(int index) {
  if (index == tl_device) [[likely]] return;
  zoo::check(index >= 0 && index < kMostDevices, "device 'cuda:", index, "' is not there");
  check(cudaSetDevice(index), "choosing a device");
  tl_device = index;
}

cudaStream_t stream() {
  const int index = current_device();
  cudaStream_t& chosen = tl_streams[index];
  if (chosen == nullptr) chosen = own_stream(index);
  return chosen;
}

void set_stream(cudaStream_t stream) { tl_streams[current_device()] = stream; }

void copy_to_host(void* to, const void* from, size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream()), "a copy to the host");
  check(cudaStreamSynchronize(stream()), "a copy to the host");
}

void set_bytes(void* data, int value, size_t bytes) {
  if (bytes > 0) check(cudaMemsetAsync(data, value, bytes, stream()), "setting memory");
}

int multiprocessors() {
  static int counts[kMostDevices] = {};  // two threads may both ask: they get the same answer
  int& count = counts[current_device()];
  if (count == 0) {
    check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, tl_device),
          "asking for a device's multiprocessors");
  }
  return count;
}

void allow_shared_bytes(const void* kernel, size_t bytes) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)),
        "asking for shared memory");
}

void enlist(const KernelTable& table, const char* variable, KernelTable::Erased fn) {
  entries().push_back({variable, table.signature().name(), fn});
}

}  // namespace zoo::cuda

extern "C" __attribute__((visibility("default"))) const zoo::DeviceBackend* zoo_device_backend(
    uint32_t version) {
  namespace cuda = zoo::cuda;
  if (version != zoo::kBackendVersion) return nullptr;
  static const zoo::DeviceBackend backend = [] {
    zoo::DeviceBackend b;
#if defined(ZOO_CUDA_EMULATION)
    b.name = "emulation";
#else
    b.name = "CUDA";
#endif
    cudaRuntimeGetVersion(&b.runtime_version);
    cudaDriverGetVersion(&b.driver_version);
    b.device_count = &cuda::device_count;
    b.describe = &cuda::describe;
    b.use_device = &cuda::use_device;
    b.allocate = &cuda::allocate;
    b.deallocate = &cuda::deallocate;
    b.copy = &cuda::copy;
    b.synchronize = &cuda::synchronize;
    b.memory_stats = &cuda::memory_stats;
    b.reset_peak_memory_stats = &cuda::reset_peak_memory_stats;
    b.empty_cache = &cuda::empty_cache;
    b.kernels = cuda::entries().data();
    b.kernel_count = cuda::entries().size();
    return b;
  }();
  return &backend;
}
