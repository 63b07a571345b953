// Memory for large blocks. Segments are mapped from the system; blocks are cut out of their free
// stretches, best fit first, and joined with their free neighbours when they come back, so that
// blocks of many sizes share the same memory. Not safe to use from two threads at once.
#pragma once

#include <cstddef>
#include <set>
#include <unordered_map>

namespace zoo {

// Where segments come from, and how they are cut: the system's memory, or a GPU's.
struct SegmentSource {
  void* (*map)(size_t bytes);  // null where there is no more
  void (*unmap)(void* data, size_t bytes);
  size_t page;        // segments are multiples of it
  size_t odd;         // a bit that is set in every block's size, or 0
  size_t least_rest;  // what is left of a stretch when a block is cut from it is kept from here on
  // A segment is as large as half of what is mapped already, within these limits.
  size_t least_segment, most_segment;
};
extern const SegmentSource kSystemMemory;

class Segments {
 public:
  explicit Segments(const SegmentSource& source = kSystemMemory) : source_(source) {}
  // A block of `bytes`, a multiple of 64, from what is mapped; null if no free stretch is as long.
  void* take(size_t bytes);
  // Maps a segment with room for `bytes`; false if the system refuses.
  bool grow(size_t bytes);
  void give_back(void* block);
  bool holds(void* block) const { return used_.count(block) != 0; }
  // Unmaps the segments in which nothing is in use; how many bytes they were.
  size_t release();
  // Gives the system the pages of free stretches, which stay mapped: of the system's memory only.
  void discard();
  size_t mapped() const { return mapped_; }

 private:
  struct Stretch {
    char* begin;
    size_t size;
    bool free;
    Stretch *before, *after;  // in the same segment
  };
  struct Shorter {
    bool operator()(const Stretch* a, const Stretch* b) const {
      return a->size != b->size ? a->size < b->size : a->begin < b->begin;
    }
  };

  static void join_next(Stretch* stretch);

  const SegmentSource& source_;
  std::set<Stretch*, Shorter> free_;
  std::unordered_map<void*, Stretch*> used_;
  size_t mapped_ = 0;
};

}  // namespace zoo
