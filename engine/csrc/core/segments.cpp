#include "core/segments.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

namespace zoo {
namespace {

// Segments are aligned to, and advised for, 2 MiB pages: fewer TLB misses are worth 5-20% of a
// training step.
constexpr size_t kHugePage = size_t{2} << 20;

void* map_aligned(size_t bytes) {
  const size_t whole = bytes + kHugePage;
  void* mapped = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  char* const start = static_cast<char*>(mapped);
  const size_t skip = -reinterpret_cast<uintptr_t>(start) & (kHugePage - 1);
  if (skip > 0) munmap(start, skip);
  munmap(start + skip + bytes, kHugePage - skip);
#if defined(MADV_HUGEPAGE)
  madvise(start + skip, bytes, MADV_HUGEPAGE);
#endif
  return start + skip;
}

}  // namespace

// Blocks are odd multiples of a cache line: tensors that begin at equal places of their pages would
// compete for the same sets of the caches. Few large segments waste less at their ends, and pages
// that nobody touches take no memory.
constinit const SegmentSource kSystemMemory{
    map_aligned, [](void* data, size_t bytes) { munmap(data, bytes); },
    kHugePage,   64,
    size_t{32} << 10,
    size_t{32} << 20,
    size_t{1} << 30};

void* Segments::take(size_t bytes) {
  bytes |= source_.odd;
  Stretch wanted{nullptr, bytes, true, nullptr, nullptr};
  const auto found = free_.lower_bound(&wanted);
  if (found == free_.end()) return nullptr;
  Stretch* const stretch = *found;
  free_.erase(found);
  if (stretch->size - bytes >= source_.least_rest) {
    auto* rest = new Stretch{stretch->begin + bytes, stretch->size - bytes, true, stretch,
                             stretch->after};
    if (rest->after != nullptr) rest->after->before = rest;
    stretch->after = rest;
    stretch->size = bytes;
    free_.insert(rest);
  }
  stretch->free = false;
  used_[stretch->begin] = stretch;
  return stretch->begin;
}

bool Segments::grow(size_t bytes) {
  bytes |= source_.odd;  // as take does
  const size_t page = source_.page;
  const size_t least = (bytes + page - 1) / page * page;
  if (least < bytes) return false;  // overflow
  const size_t usual =
      std::clamp(mapped_ / 2, source_.least_segment, source_.most_segment) / page * page;
  size_t size = std::max(least, usual);
  void* begin = source_.map(size);
  if (begin == nullptr && size > least) begin = source_.map(size = least);
  if (begin == nullptr) return false;
  mapped_ += size;
  free_.insert(new Stretch{static_cast<char*>(begin), size, true, nullptr, nullptr});
  return true;
}

// Takes the stretch behind, which is not in the order of free ones, into this one.
void Segments::join_next(Stretch* stretch) {
  Stretch* const next = stretch->after;
  stretch->size += next->size;
  stretch->after = next->after;
  if (stretch->after != nullptr) stretch->after->before = stretch;
  delete next;
}

void Segments::give_back(void* block) {
  const auto found = used_.find(block);
  Stretch* stretch = found->second;
  used_.erase(found);
  stretch->free = true;
  if (stretch->after != nullptr && stretch->after->free) {
    free_.erase(stretch->after);
    join_next(stretch);
  }
  if (stretch->before != nullptr && stretch->before->free) {
    stretch = stretch->before;
    free_.erase(stretch);  // its place in the order changes
    join_next(stretch);
  }
  free_.insert(stretch);
}

size_t Segments::release() {
  size_t released = 0;
  for (auto it = free_.begin(); it != free_.end();) {
    Stretch* const stretch = *it;
    if (stretch->before != nullptr || stretch->after != nullptr) {
      ++it;
      continue;
    }
    source_.unmap(stretch->begin, stretch->size);
    released += stretch->size;
    it = free_.erase(it);
    delete stretch;
  }
  mapped_ -= released;
  return released;
}

void Segments::discard() {
  for (const Stretch* stretch : free_) {
    const auto round = [](char* p, size_t up) {
      return reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(p) + up) & ~(kHugePage - 1));
    };
    char* const begin = round(stretch->begin, kHugePage - 1);
    char* const end = round(stretch->begin + stretch->size, 0);
    if (begin < end) madvise(begin, static_cast<size_t>(end - begin), MADV_DONTNEED);
  }
}

}  // namespace zoo
