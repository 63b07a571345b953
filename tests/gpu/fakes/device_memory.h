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

inline off_t offset_of(const void* base) {
  return static_cast<off_t>(reinterpret_cast<uintptr_t>(base));
}
[[noreturn]] inline void missing(const char* what, size_t bytes, const void* base) {
  std::fprintf(stderr, "a stand-in library %s %zu bytes at %p, which are not there\n", what, bytes,
               base);
  std::abort();
}

inline void read(const void* base, void* to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const auto n = pread(memory_file(), static_cast<char*>(to) + done, bytes - done,
                         offset_of(base) + static_cast<off_t>(done));
    if (n <= 0) missing("read", bytes, base);
    done += static_cast<size_t>(n);
  }
}
inline void write(void* base, const void* from, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const auto n = pwrite(memory_file(), static_cast<const char*>(from) + done, bytes - done,
                          offset_of(base) + static_cast<off_t>(done));
    if (n <= 0) missing("wrote", bytes, base);
    done += static_cast<size_t>(n);
  }
}

// An element of the device's memory.
template <class T>
T read(const void* base, int64_t index) {
  T value;
  read(static_cast<const T*>(base) + index, &value, sizeof value);
  return value;
}
template <class T>
void write(void* base, int64_t index, T value) {
  write(static_cast<T*>(base) + index, &value, sizeof value);
}

}  // namespace fakes
