#include "core/allocator.h"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>

#include "core/errors.h"
#include "core/segments.h"

namespace zoo {
namespace {

// Below this size blocks are reused for their own size class only; sizes round to 64 bytes up to a
// page, above to an eighth of their power of two. Larger ones are cut from segments.
constexpr size_t kPage = 4096, kLarge = size_t{64} << 10;
constexpr size_t kMostBytes = size_t{1} << 62;  // no system gives that much; sums stay in range

size_t size_class(size_t bytes) {
  const size_t rounded = (bytes + kAlignment - 1) & ~(kAlignment - 1);
  if (bytes <= kPage) return std::max(kAlignment, rounded);
  if (bytes >= kLarge) return rounded;
  const size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

struct Arena {
  std::mutex mutex;
  // Blocks to reuse, by size class. A class that was used once stays, empty or not: there are few.
  std::vector<void*> tiny_blocks[kPage / kAlignment + 1];
  std::map<size_t, std::vector<void*>> small_blocks;
  Segments segments;
  MemoryStats stats;
  // ZOO_ALLOCATOR=system: each tensor is a block of the system's, of its own length to the byte and
  // never used again, so that sanitizers and the like see every access that is out of place.
  const bool pooled = [] {
    const char* const text = std::getenv("ZOO_ALLOCATOR");
    return text == nullptr || std::strcmp(text, "system") != 0;
  }();

  std::vector<void*>& blocks(size_t size) {
    return size <= kPage ? tiny_blocks[size / kAlignment] : small_blocks[size];
  }
  void reserve(int64_t bytes) {
    stats.reserved_bytes += bytes;
    stats.peak_reserved_bytes = std::max(stats.peak_reserved_bytes, stats.reserved_bytes);
  }
  void hold(int64_t bytes) {
    stats.allocated_bytes += bytes;
    stats.peak_allocated_bytes = std::max(stats.peak_allocated_bytes, stats.allocated_bytes);
  }
};

Arena& arena() {
  // Never destroyed: tensors that live in Python modules are freed after static destructors.
  static Arena* a = [] {
    auto* made = new Arena;
    static Arena* for_fork = made;
    pthread_atfork([] { for_fork->mutex.lock(); }, [] { for_fork->mutex.unlock(); },
                   [] { for_fork->mutex.unlock(); });
    return made;
  }();
  return *a;
}

void release_free_blocks(Arena& a) {
  size_t released = a.segments.release();
  const auto release = [&](size_t size, std::vector<void*>& blocks) {
    for (void* p : blocks) std::free(p);
    released += size * blocks.size();
    blocks.clear();
  };
  for (size_t i = 0; i < std::size(a.tiny_blocks); ++i) release(i * kAlignment, a.tiny_blocks[i]);
  for (auto& [size, blocks] : a.small_blocks) release(size, blocks);
  a.stats.reserved_bytes -= static_cast<int64_t>(released);
}

void* allocate_small(Arena& a, size_t size) {
  if (auto& blocks = a.blocks(size); !blocks.empty()) {
    void* const data = blocks.back();
    blocks.pop_back();
    ++a.stats.cache_hits;
    return data;
  }
  void* data = nullptr;
  if (posix_memalign(&data, kAlignment, size) != 0) return nullptr;
  a.reserve(static_cast<int64_t>(size));
  return data;
}

void* allocate_alone(Arena& a, size_t bytes) {
  void* data = nullptr;
  if (posix_memalign(&data, kAlignment, std::max<size_t>(bytes, 1)) != 0) return nullptr;
  a.reserve(static_cast<int64_t>(size_class(bytes)));
  return data;
}

void* allocate_large(Arena& a, size_t size) {
  if (void* const data = a.segments.take(size)) {
    ++a.stats.cache_hits;
    return data;
  }
  // Segments that are free as a whole are too short: they are given up before one more is mapped.
  a.reserve(-static_cast<int64_t>(a.segments.release()));
  const size_t before = a.segments.mapped();
  if (!a.segments.grow(size)) return nullptr;
  a.reserve(static_cast<int64_t>(a.segments.mapped() - before));
  return a.segments.take(size);
}

}  // namespace

void* allocate(size_t bytes) {
  auto& a = arena();
  std::lock_guard lock(a.mutex);
  ++a.stats.allocations;
  void* data = nullptr;
  if (!a.pooled && bytes <= kMostBytes) {
    data = allocate_alone(a, bytes);
  } else if (bytes <= kMostBytes) {
    const size_t size = size_class(bytes);
    const auto attempt = size < kLarge ? allocate_small : allocate_large;
    data = attempt(a, size);
    if (data == nullptr) {
      release_free_blocks(a);
      data = attempt(a, size);
    }
  }
  if (data == nullptr) {
    throw OutOfMemory(concat_text(
        "cannot allocate ", bytes, " bytes: ", a.stats.allocated_bytes,
        " bytes are held by live tensors. Use a smaller batch size or smaller pictures"));
  }
  a.hold(static_cast<int64_t>(size_class(bytes)));
  return data;
}

void deallocate(void* data, size_t bytes) noexcept {
  if (data == nullptr) return;
  const size_t size = size_class(bytes);
  auto& a = arena();
  std::lock_guard lock(a.mutex);
  if (!a.pooled) {
    std::free(data);
    a.stats.reserved_bytes -= static_cast<int64_t>(size);
  } else if (size < kLarge) {
    a.blocks(size).push_back(data);
  } else {
    a.segments.give_back(data);
  }
  a.stats.allocated_bytes -= static_cast<int64_t>(size);
}

MemoryStats memory_stats() {
  auto& a = arena();
  std::lock_guard lock(a.mutex);
  return a.stats;
}

void reset_peak_memory_stats() {
  auto& a = arena();
  std::lock_guard lock(a.mutex);
  a.stats.peak_allocated_bytes = a.stats.allocated_bytes;
  a.stats.peak_reserved_bytes = a.stats.reserved_bytes;
}

void empty_cache() {
  auto& a = arena();
  std::lock_guard lock(a.mutex);
  release_free_blocks(a);
  a.segments.discard();
}

}  // namespace zoo
