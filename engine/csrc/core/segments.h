// Memory for large blocks. Segments are mapped from the system; blocks are cut out of their free
// stretches, best fit first, and joined with their free neighbours when they come back, so that
// blocks of many sizes share the same memory. Not safe to use from two threads at once.
#pragma once

#include <cstddef>
#include <set>
#include <unordered_map>

namespace zoo {

class Segments {
 public:
  // A block of `bytes`, a multiple of 64, from what is mapped; null if no free stretch is as long.
  void* take(size_t bytes);
  // Maps a segment with room for `bytes`; false if the system refuses.
  bool grow(size_t bytes);
  void give_back(void* block);
  // Unmaps the segments in which nothing is in use; how many bytes they were.
  size_t release();
  // Gives the system the pages of free stretches, which stay mapped.
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

  std::set<Stretch*, Shorter> free_;
  std::unordered_map<void*, Stretch*> used_;
  size_t mapped_ = 0;
};

}  // namespace zoo
