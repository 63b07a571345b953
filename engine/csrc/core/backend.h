// What a library for another device than the CPU gives to the core: memory, copies and kernels. The
// core knows no such library; it is opened by path (engine/_cuda.so, or the emulation of the tests)
// and hands over one table of functions. Its kernels are found by the name and the signature of the
// table that they stand in, so neither side needs the other's symbols.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/allocator.h"
#include "core/device.h"
#include "core/dispatch.h"

namespace zoo {

// Counted up whenever a structure that both sides share changes: a library of another build is
// refused.
inline constexpr uint32_t kBackendVersion = 1;

struct DeviceInfo {
  char name[256] = {};
  int64_t total_bytes = 0, free_bytes = 0;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
};

struct KernelEntry {
  const char* variable;   // "gemm_kernel"
  const char* signature;  // std::type_info::name() of the function
  KernelTable::Erased fn;
};

// Functions that take an index throw OutOfMemory or std::runtime_error, whose texts are for users.
struct DeviceBackend {
  uint32_t version = kBackendVersion;
  const char* name = "";  // "CUDA 13.0", or "emulation"
  int runtime_version = 0, driver_version = 0;  // 13000 is 13.0
  int (*device_count)() = nullptr;
  void (*describe)(int index, DeviceInfo*) = nullptr;
  // From here on this thread's kernels go to that device.
  void (*use_device)(int index) = nullptr;
  void* (*allocate)(size_t bytes, int index) = nullptr;
  void (*deallocate)(void* data, size_t bytes, int index) noexcept = nullptr;
  // Between the device and memory of the host (index -1), or of two devices. From and to the host
  // the memory may be used again when this returns.
  void (*copy)(void* to, int to_index, const void* from, int from_index, size_t bytes) = nullptr;
  // Waits for all work that was given to the device.
  void (*synchronize)(int index) = nullptr;
  MemoryStats (*memory_stats)(int index) = nullptr;
  void (*reset_peak_memory_stats)(int index) = nullptr;
  void (*empty_cache)(int index) = nullptr;
  const KernelEntry* kernels = nullptr;
  size_t kernel_count = 0;
};
// The one symbol that a library exports, as ZOO_BACKEND_SYMBOL; null for another version.
using BackendEntry = const DeviceBackend* (*)(uint32_t version);
#define ZOO_BACKEND_SYMBOL "zoo_device_backend"

// Opens the library and puts its kernels into the tables, under DeviceType::kCUDA. Throws
// ValueError with what is wrong: no such library, another build, no kernel table of a name.
void load_backend(const char* path);
// The same for `path` if the file is there and the machine has a driver; never throws. Otherwise
// errors about the device say what is missing.
void load_backend_if_possible(const char* path) noexcept;
bool has_backend();
// Of the library that was loaded; throws NotImplemented that says why there is none.
const DeviceBackend& backend();
// Why no library was loaded; empty if one was.
const char* backend_absence();

// Throws for a device that is not there, naming it and what is.
void check_device(Device device);
// Kernels that this thread launches go to the device from here on; nothing for the CPU.
void use_other_device(Device device);
inline void use_device(Device device) {
  if (device.type != DeviceType::kCPU) [[unlikely]] use_other_device(device);
}
// Copies bytes between any two devices; the CPU included.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device, size_t bytes);

}  // namespace zoo
