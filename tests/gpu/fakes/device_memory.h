// How the stand-ins for NVIDIA's libraries reach memory of the emulated device, which is closed to
// the host: through the file of the process's own memory, as a debugger does.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace fakes {

inline int memory_file() {
  static const int file = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  return file;
}

// An element of the device's memory.
template <class T>
T read(const void* base, int64_t index) {
  T value;
  const off_t at = static_cast<off_t>(reinterpret_cast<uintptr_t>(base)) +
                   index * static_cast<int64_t>(sizeof(T));
  if (pread(memory_file(), &value, sizeof value, at) != sizeof value) {
    std::fprintf(stderr, "a stand-in library read element %ld of %p, which is not there\n",
                 static_cast<long>(index), base);
    std::abort();
  }
  return value;
}

template <class T>
void write(void* base, int64_t index, T value) {
  const off_t at = static_cast<off_t>(reinterpret_cast<uintptr_t>(base)) +
                   index * static_cast<int64_t>(sizeof(T));
  if (pwrite(memory_file(), &value, sizeof value, at) != sizeof value) {
    std::fprintf(stderr, "a stand-in library wrote element %ld of %p, which is not there\n",
                 static_cast<long>(index), base);
    std::abort();
  }
}

}  // namespace fakes
