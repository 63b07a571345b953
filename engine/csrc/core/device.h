// Devices, instruction-set levels and the CPU they are read from.
#pragma once

#include <cstdint>
#include <string>

namespace zoo {

enum class DeviceType : int8_t { kCPU = 0, kCUDA = 1 };
inline constexpr int kNumDeviceTypes = 2;

struct Device {
  DeviceType type = DeviceType::kCPU;
  int8_t index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

const char* device_type_name(DeviceType type);
// "cpu", "cuda:0", "cuda:1".
std::string device_text(Device device);

// Where this thread's new tensors go when nobody says: the CPU, unless engine.device() is entered.
Device default_device();
void set_default_device(Device device);

// Every file in kernels/cpu is compiled once per level; the best level that the processor and
// ZOO_CPU_ISA allow is used. On other architectures than x86-64 only the baseline is built.
enum class IsaLevel : int { kBaseline = 0, kAVX2 = 1, kAVX512 = 2 };

const char* isa_name(IsaLevel level);
// The level in use: read once, from the processor and the environment variable ZOO_CPU_ISA
// (baseline, avx2 or avx512), which can lower it but never raise it.
IsaLevel cpu_isa_level();
// Bytes of level-2 cache a core has, for block sizes (1 MiB when the system does not say).
int64_t l2_cache_bytes();

}  // namespace zoo
