// Sorting by keys: each element becomes an unsigned integer of the same order. Short rows are
// sorted by comparison, one row a thread; long ones by radix, eight bits a pass, all threads on one
// row (Knuth, The Art of Computer Programming 3, 5.2.5). A stable order is unique, so the number
// of threads does not show.
#include "kernels/order.h"

#include <algorithm>
#include <cstring>

#include "core/allocator.h"
#include "core/parallel.h"
#include "kernels/cpu/real_dtypes.h"
#include "kernels/cpu/sort_key.h"

namespace zoo {
namespace {

constexpr int64_t kRadixLength = 4096;      // below it comparison is faster
constexpr int64_t kParallelLength = 65536;  // elements a thread takes at least
constexpr int64_t kFewKept = 64;            // that many are picked out one by one
constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;

// A key and where it came from. Comparing both makes any sort a stable one.
struct Wide {
  uint64_t key;
  uint64_t index;
};
// Key in the upper half, position in the lower.
struct Packed {
  uint64_t word;
};

// A type of this file alone: so is every function of the library that it makes.
struct Before {
  template <class U>
  ZOO_INLINE bool operator()(U a, U b) const { return a < b; }
  ZOO_INLINE bool operator()(const Wide& a, const Wide& b) const {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
  ZOO_INLINE bool operator()(const Packed& a, const Packed& b) const { return a.word < b.word; }
};

// One stable pass by eight bits of key; false if all elements share them and nothing was moved.
template <class Item, class Digit>
bool radix_pass(const Item* from, Item* to, int64_t n, int64_t blocks, int64_t* counts,
                Digit digit) {
  const int64_t step = (n + blocks - 1) / blocks;
  parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      int64_t* count = counts + b * kDigits;
      std::fill(count, count + kDigits, 0);
      for (int64_t i = b * step; i < std::min(n, (b + 1) * step); ++i) ++count[digit(from[i])];
    }
  });
  int64_t at = 0;
  for (int d = 0; d < kDigits; ++d) {
    const int64_t before = at;
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t count = counts[b * kDigits + d];
      counts[b * kDigits + d] = at;
      at += count;
    }
    if (at - before == n) return false;
  }
  parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      int64_t* position = counts + b * kDigits;
      for (int64_t i = b * step; i < std::min(n, (b + 1) * step); ++i) {
        to[position[digit(from[i])]++] = from[i];
      }
    }
  });
  return true;
}

// Sorts `items` by bits [low, low + bits) of their key, with `spare` as the other half of the
// work; returns whichever of the two holds the result.
template <class Item, class Key>
Item* radix_sort(Item* items, Item* spare, int64_t n, int low, int bits, Key key) {
  const int64_t blocks =
      in_parallel_region() ? 1
                           : std::clamp<int64_t>(n / kParallelLength, 1, num_threads());
  Scratch scratch(static_cast<size_t>(blocks * kDigits) * sizeof(int64_t));
  for (int shift = low; shift < low + bits; shift += kDigitBits) {
    const auto digit = [shift, key](const Item& item) {
      return static_cast<int>((key(item) >> shift) & (kDigits - 1));
    };
    if (radix_pass(items, spare, n, blocks, scratch.as<int64_t>(), digit)) {
      std::swap(items, spare);
    }
  }
  return items;
}

template <class Body>
void fill_parallel(int64_t n, Body body) {
  parallel_for(0, n, kParallelLength, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

// Values alone, all of them.
template <class T>
void sort_values(const T* in, T* out, int64_t n, bool descending) {
  using K = KeyOf<T>;
  using U = typename K::U;
  const U flip = descending ? static_cast<U>(~U{0}) : U{0};
  Scratch scratch(static_cast<size_t>(2 * n) * sizeof(U));
  U* keys = scratch.as<U>();
  fill_parallel(n, [=](int64_t i) { keys[i] = static_cast<U>(K::to(in[i], false) ^ flip); });
  if (n < kRadixLength) {
    std::sort(keys, keys + n, Before{});
  } else {
    keys = radix_sort(keys, keys + n, n, 0, sizeof(U) * 8, [](U key) { return key; });
  }
  fill_parallel(n, [=](int64_t i) { out[i] = K::from(static_cast<U>(keys[i] ^ flip)); });
}

ZOO_INLINE uint64_t key_of(const Packed& item) { return item.word; }
ZOO_INLINE uint64_t key_of(const Wide& item) { return item.key; }

// The first `keep` >= 1 positions of a stable order, in order: each block of the row is first asked
// whether it holds anything before the last of those kept, which vectorises and is mostly denied.
template <class T>
void select_few(const T* in, int64_t n, bool descending, int64_t keep, int64_t* indices) {
  using K = KeyOf<T>;
  using U = typename K::U;
  const U flip = descending ? static_cast<U>(~U{0}) : U{0};
  const auto key_at = [=](int64_t i) { return static_cast<U>(K::to(in[i], true) ^ flip); };
  constexpr int64_t kBlock = 64;
  U kept[kFewKept];
  int64_t count = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    if (count == keep) {
      const U last = kept[keep - 1];
      U any = 0;
      for (int64_t i = begin; i < end; ++i) any |= static_cast<U>(key_at(i) < last);
      if (!any) continue;
    }
    for (int64_t i = begin; i < end; ++i) {
      const U key = key_at(i);
      if (count == keep && !(key < kept[keep - 1])) continue;
      int64_t at = count < keep ? count++ : keep - 1;
      for (; at > 0 && key < kept[at - 1]; --at) {
        kept[at] = kept[at - 1];
        indices[at] = indices[at - 1];
      }
      kept[at] = key;
      indices[at] = i;
    }
  }
}

// Brings the first `keep` items into order and returns where they are: in `items` or `spare`.
template <class Item>
Item* order_items(Item* items, Item* spare, int64_t n, int64_t keep, int low, int bits) {
  if (keep < n / 8) {
    std::nth_element(items, items + keep, items + n, Before{});
    std::sort(items, items + keep, Before{});
    return items;
  }
  if (n < kRadixLength) {
    std::sort(items, items + n, Before{});
    return items;
  }
  return radix_sort(items, spare, n, low, bits, [](const Item& item) { return key_of(item); });
}

// With positions. Keys of up to 32 bits travel in one word with them.
template <class T>
void sort_row(const T* in, int64_t n, bool descending, int64_t keep, T* values,
              int64_t* indices) {
  using K = KeyOf<T>;
  using U = typename K::U;
  const U flip = descending ? static_cast<U>(~U{0}) : U{0};
  if (keep <= kFewKept && keep < n / 8) {
    select_few(in, n, descending, keep, indices);
    for (int64_t i = 0; values && i < keep; ++i) values[i] = in[indices[i]];
    return;
  }
  if (sizeof(U) <= 4 && n <= int64_t{0xffffffff}) {
    Scratch scratch(static_cast<size_t>(2 * n) * sizeof(Packed));
    Packed* items = scratch.as<Packed>();
    fill_parallel(n, [=](int64_t i) {
      const U key = static_cast<U>(K::to(in[i], true) ^ flip);
      items[i].word = static_cast<uint64_t>(key) << 32 | static_cast<uint64_t>(i);
    });
    items = order_items(items, items + n, n, keep, 32, sizeof(U) * 8);
    fill_parallel(keep, [=](int64_t i) {
      const auto from = static_cast<int64_t>(items[i].word & 0xffffffffu);
      indices[i] = from;
      if (values) values[i] = in[from];
    });
    return;
  }
  Scratch scratch(static_cast<size_t>(2 * n) * sizeof(Wide));
  Wide* items = scratch.as<Wide>();
  fill_parallel(n, [=](int64_t i) {
    const U key = static_cast<U>(K::to(in[i], true) ^ flip);
    items[i] = {static_cast<uint64_t>(key), static_cast<uint64_t>(i)};
  });
  items = order_items(items, items + n, n, keep, 0, sizeof(U) * 8);
  fill_parallel(keep, [=](int64_t i) {
    const auto from = static_cast<int64_t>(items[i].index);
    indices[i] = from;
    if (values) values[i] = in[from];
  });
}

void sort_cpu(const SortArgs& a, DType dtype) {
  visit_real(dtype, [&]<class T>() {
    const auto row = [&](int64_t r) {
      const T* in = static_cast<const T*>(a.in) + r * a.n;
      T* values = a.values ? static_cast<T*>(a.values) + r * a.keep : nullptr;
      if (a.indices) {
        sort_row(in, a.n, a.descending, a.keep, values, a.indices + r * a.keep);
      } else {
        sort_values(in, values, a.n, a.descending);
      }
    };
    if (a.n >= kParallelLength && a.rows < num_threads()) {
      for (int64_t r = 0; r < a.rows; ++r) row(r);
      return;
    }
    parallel_for(0, a.rows, 2048 / (a.n + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) row(r);
    });
  });
}

void search_cpu(const SearchArgs& a, DType dtype) {
  visit_real(dtype, [&]<class T>() {
    using K = KeyOf<T>;
    const T* sorted = static_cast<const T*>(a.sorted);
    const T* values = static_cast<const T*>(a.values);
    parallel_for(0, a.count, 2048, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto key = K::to(values[i], true);
        int64_t first = 0;
        for (int64_t left = a.n; left > 0;) {
          const int64_t half = left / 2;
          const auto middle = K::to(sorted[first + half], true);
          const bool behind = a.right ? !(key < middle) : middle < key;
          first = behind ? first + half + 1 : first;
          left = behind ? left - half - 1 : half;
        }
        a.out[i] = first;
      }
    });
  });
}

}  // namespace

ZOO_REGISTER_CPU(sort_kernel, &sort_cpu);
ZOO_REGISTER_CPU(search_kernel, &search_cpu);

}  // namespace zoo
