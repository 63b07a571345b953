// Caching allocator for CPU memory: 64-byte aligned blocks, kept for reuse when they are freed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zoo {

inline constexpr size_t kAlignment = 64;

struct MemoryStats {
  int64_t allocated_bytes = 0;       // in use by tensors and scratch buffers
  int64_t reserved_bytes = 0;        // in use, kept for reuse, or mapped and not touched yet
  int64_t peak_allocated_bytes = 0;  // largest allocated_bytes since the last reset
  int64_t peak_reserved_bytes = 0;
  int64_t allocations = 0;           // calls served so far
  int64_t cache_hits = 0;            // of those, without asking the system
};

void* allocate(size_t bytes);          // throws OutOfMemory; a zero size gives a valid pointer
void deallocate(void* data, size_t bytes) noexcept;
MemoryStats memory_stats();
void reset_peak_memory_stats();
void empty_cache();                    // gives every kept block back to the system

// Scratch memory for a kernel, freed at scope end. Never reads or writes what it holds.
class Scratch {
 public:
  explicit Scratch(size_t bytes) : data_(allocate(bytes)), bytes_(bytes) {}
  ~Scratch() { deallocate(data_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  template <class T>
  [[gnu::always_inline]] T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_;
  size_t bytes_;
};

}  // namespace zoo
