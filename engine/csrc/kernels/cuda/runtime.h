// What kernels of this folder need from the runtime: errors, the stream, memory, registration.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "core/backend.h"
#include "core/dispatch.h"

namespace zoo::cuda {

inline constexpr int kMostDevices = 64;

// Throws std::runtime_error with CUDA's name and words for the error, and what was done.
void check(cudaError_t error, const char* what);

int current_device();
void use_device(int index);
// Of this thread and its current device: the stream that everything is put into.
cudaStream_t stream();
void set_stream(cudaStream_t stream);  // null for the one the library made

// From the caching allocator of a device (allocator.cu).
void* allocate(size_t bytes, int index);
void deallocate(void* data, size_t bytes, int index) noexcept;

// Memory of the current device for the time of a kernel; what the destructor frees is used again
// only by what follows in the stream.
class DeviceScratch {
 public:
  explicit DeviceScratch(size_t bytes)
      : index_(current_device()), bytes_(bytes), data_(allocate(bytes, index_)) {}
  ~DeviceScratch() { deallocate(data_, bytes_, index_); }
  DeviceScratch(const DeviceScratch&) = delete;
  DeviceScratch& operator=(const DeviceScratch&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  int index_;
  size_t bytes_;
  void* data_;
};

// Waits for the stream.
void copy_to_host(void* to, const void* from, size_t bytes);
// In the stream; `from` may be used again at once (uploads.cu).
void copy_to_device(void* to, const void* from, size_t bytes);
// Sets bytes, in the stream.
void set_bytes(void* data, int value, size_t bytes);

// Of the current device: for grids that should just fill it, and shared memory a block may ask for.
int multiprocessors();
// Lets a kernel ask for more dynamic shared memory than 48 KiB.
void allow_shared_bytes(const void* kernel, size_t bytes);

// Remembered until the core asks for it; see ZOO_REGISTER_CUDA.
void enlist(const KernelTable& table, const char* variable, KernelTable::Erased fn);

template <class R, class... Args>
bool register_cuda(Kernel<R(Args...)>& table, const char* variable, R (*fn)(Args...)) {
  // In this library's own copy of the table too, so that kernels find each other.
  table.register_kernel(DeviceType::kCUDA, IsaLevel::kBaseline, fn, variable);
  enlist(table, variable, reinterpret_cast<KernelTable::Erased>(fn));
  return true;
}

}  // namespace zoo::cuda

// In kernels/cuda/*.cu, outside namespaces: ZOO_REGISTER_CUDA(table, function);
#define ZOO_REGISTER_CUDA(table, fn)                             \
  [[maybe_unused]] static const bool registered_cuda_##table =   \
      ::zoo::cuda::register_cuda(::zoo::table, #table, fn)
