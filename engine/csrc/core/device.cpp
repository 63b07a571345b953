#include "core/device.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace zoo {

const char* device_type_name(DeviceType type) {
  return type == DeviceType::kCPU ? "cpu" : "cuda";
}

std::string device_text(Device device) {
  if (device.type == DeviceType::kCPU) return "cpu";
  return "cuda:" + std::to_string(device.index);
}

namespace {

thread_local Device tl_default_device;

}  // namespace

Device default_device() { return tl_default_device; }
void set_default_device(Device device) { tl_default_device = device; }

const char* isa_name(IsaLevel level) {
  switch (level) {
    case IsaLevel::kAVX512: return "avx512";
    case IsaLevel::kAVX2: return "avx2";
    default: return "baseline";
  }
}

namespace {

IsaLevel detect() {
  IsaLevel level = IsaLevel::kBaseline;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (avx512) {
    level = IsaLevel::kAVX512;
  } else if (avx2) {
    level = IsaLevel::kAVX2;
  }
#endif
  if (const char* wanted = std::getenv("ZOO_CPU_ISA")) {
    for (IsaLevel lower : {IsaLevel::kBaseline, IsaLevel::kAVX2}) {
      if (std::strcmp(wanted, isa_name(lower)) == 0 && lower < level) level = lower;
    }
  }
  return level;
}

}  // namespace

IsaLevel cpu_isa_level() {
  static const IsaLevel level = detect();
  return level;
}

int64_t l2_cache_bytes() {
  static const int64_t bytes = [] {
#if defined(_SC_LEVEL2_CACHE_SIZE)
    const long n = sysconf(_SC_LEVEL2_CACHE_SIZE);
    if (n > 0) return static_cast<int64_t>(n);
#endif
    return int64_t{1} << 20;
  }();
  return bytes;
}

}  // namespace zoo
