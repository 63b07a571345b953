// Caching allocator for the memory of GPUs. A block that is freed may be used again at once, by
// what follows in the stream that used it: cudaMalloc and cudaFree, which wait for the device, are
// called for segments only. Each stream of a device has an arena of its own.
//
// ZOO_CUDA_CACHE=0 takes every block from the device itself: slow, but compute-sanitizer (and the
// emulation) then see where each one ends.
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "core/errors.h"
#include "core/segments.h"
#include "kernels/cuda/launch.h"

namespace zoo::cuda {
namespace {

constexpr size_t kAlign = 512;                // what cudaMalloc gives too, and then some
constexpr size_t kSmall = size_t{1} << 20;    // below it, blocks share small segments
constexpr size_t kMostBytes = size_t{1} << 62;

void* map_segment(size_t bytes) {
  void* data = nullptr;
  if (cudaMalloc(&data, bytes) == cudaSuccess) return data;
  cudaGetLastError();  // it is no kernel's
  return nullptr;
}
void unmap_segment(void* data, size_t) { cudaFree(data); }

constexpr SegmentSource kSmallSegments{map_segment, unmap_segment, kAlign, 0, kAlign,
                                       size_t{2} << 20, size_t{2} << 20};
constexpr SegmentSource kLargeSegments{map_segment, unmap_segment, size_t{2} << 20, 0, kSmall,
                                       size_t{32} << 20, size_t{1} << 30};

struct Arena {
  Segments small{kSmallSegments}, large{kLargeSegments};
};

struct DeviceMemory {
  std::map<cudaStream_t, std::unique_ptr<Arena>> arenas;
  MemoryStats stats;
};

struct Allocator {
  std::mutex mutex;
  std::map<int, DeviceMemory> devices;
  bool caches = true;

  Allocator() {
    const char* text = std::getenv("ZOO_CUDA_CACHE");
    caches = text == nullptr || std::strcmp(text, "0") != 0;
  }
};

Allocator& allocator() {
  // Never destroyed: tensors that live in Python modules are freed after static destructors.
  static Allocator* a = new Allocator;
  return *a;
}

size_t rounded(size_t bytes) { return std::max(kAlign, (bytes + kAlign - 1) / kAlign * kAlign); }

void reserve(MemoryStats& stats, int64_t bytes) {
  stats.reserved_bytes += bytes;
  stats.peak_reserved_bytes = std::max(stats.peak_reserved_bytes, stats.reserved_bytes);
}

// Gives back what nothing is in; the device is done with it first.
void release_segments(DeviceMemory& memory) {
  cudaDeviceSynchronize();
  for (auto& [stream, arena] : memory.arenas) {
    for (Segments* segments : {&arena->small, &arena->large}) {
      reserve(memory.stats, -static_cast<int64_t>(segments->release()));
    }
  }
}

void* take(DeviceMemory& memory, size_t size) {
  auto& arena = memory.arenas[stream()];
  if (!arena) arena = std::make_unique<Arena>();
  Segments& segments = size < kSmall ? arena->small : arena->large;
  if (void* const data = segments.take(size)) {
    ++memory.stats.cache_hits;
    return data;
  }
  const size_t before = segments.mapped();
  if (!segments.grow(size)) {
    release_segments(memory);
    if (!segments.grow(size)) return nullptr;
    reserve(memory.stats, static_cast<int64_t>(segments.mapped()));
    return segments.take(size);
  }
  reserve(memory.stats, static_cast<int64_t>(segments.mapped() - before));
  return segments.take(size);
}

[[noreturn]] void out_of_memory(size_t bytes, int index, const MemoryStats& stats) {
  size_t free_bytes = 0, total = 0;
  cudaMemGetInfo(&free_bytes, &total);
  throw OutOfMemory(concat_text(
      "cannot allocate ", bytes, " bytes on 'cuda:", index, "': ", stats.allocated_bytes,
      " bytes are held by live tensors, ", stats.reserved_bytes - stats.allocated_bytes,
      " bytes are kept for reuse in pieces that are too small, and ", free_bytes, " of ", total,
      " bytes of the device are free. Use a smaller batch size, smaller pictures or shorter texts, "
      "or bfloat16; if another process holds the rest, nvidia-smi shows which"));
}

}  // namespace

void* allocate(size_t bytes, int index) {
  use_device(index);
  Allocator& a = allocator();
  std::lock_guard lock(a.mutex);
  DeviceMemory& memory = a.devices[index];
  MemoryStats& stats = memory.stats;
  ++stats.allocations;
  if (bytes > kMostBytes) out_of_memory(bytes, index, stats);
  const size_t size = a.caches ? rounded(bytes) : std::max<size_t>(bytes, 1);
  void* data = a.caches ? take(memory, size) : map_segment(size);
  if (data == nullptr) out_of_memory(bytes, index, stats);
  if (!a.caches) reserve(stats, static_cast<int64_t>(size));
  stats.allocated_bytes += static_cast<int64_t>(size);
  stats.peak_allocated_bytes = std::max(stats.peak_allocated_bytes, stats.allocated_bytes);
  return data;
}

void deallocate(void* data, size_t bytes, int index) noexcept {
  if (data == nullptr) return;
  Allocator& a = allocator();
  std::lock_guard lock(a.mutex);
  DeviceMemory& memory = a.devices[index];
  const size_t size = a.caches ? rounded(bytes) : std::max<size_t>(bytes, 1);
  memory.stats.allocated_bytes -= static_cast<int64_t>(size);
  if (!a.caches) {
    cudaFree(data);
    memory.stats.reserved_bytes -= static_cast<int64_t>(size);
    return;
  }
  for (auto& [stream, arena] : memory.arenas) {  // another stream may be current by now
    Segments& segments = size < kSmall ? arena->small : arena->large;
    if (segments.holds(data)) return segments.give_back(data);
  }
}

MemoryStats memory_stats(int index) {
  Allocator& a = allocator();
  std::lock_guard lock(a.mutex);
  return a.devices[index].stats;
}

void reset_peak_memory_stats(int index) {
  Allocator& a = allocator();
  std::lock_guard lock(a.mutex);
  MemoryStats& stats = a.devices[index].stats;
  stats.peak_allocated_bytes = stats.allocated_bytes;
  stats.peak_reserved_bytes = stats.reserved_bytes;
}

void empty_cache(int index) {
  use_device(index);
  Allocator& a = allocator();
  std::lock_guard lock(a.mutex);
  release_segments(a.devices[index]);
}

}  // namespace zoo::cuda
