// Sorting keys together with where they came from, for sort, scatter and everything else that must
// meet equal places in order.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch.h"

namespace zoo::cuda {

struct Item {
  uint64_t key;
  int64_t index;
};

// Sorts each of `rows` rows of `n` items by key, then index. `spare` is memory of the same size;
// returns whichever of the two holds the result.
Item* sort_items(Item* items, Item* spare, int64_t rows, int64_t n);

}  // namespace zoo::cuda
