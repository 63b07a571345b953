// Stands for NVIDIA's driver. GPUS is how many GPUs it has, VERSION the CUDA that it speaks, INIT
// what cuInit says.
#include <cstddef>
#include <cstdio>

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE int cuInit(unsigned) { return INIT; }
FAKE int cuDriverGetVersion(int* version) {
  *version = VERSION;
  return 0;
}
FAKE int cuDeviceGetCount(int* count) {
  *count = GPUS;
  return 0;
}
FAKE int cuDeviceGetName(char* name, int size, int device) {
  std::snprintf(name, static_cast<size_t>(size), "Stand-in %d", device);
  return 0;
}
FAKE int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = size_t{16} << 30;
  return 0;
}
// The second of them is of a kind that is too old.
FAKE int cuDeviceGetAttribute(int* value, int attribute, int device) {
  *value = attribute == 75 ? (device == 1 ? 7 : 9) : 0;
  return 0;
}
