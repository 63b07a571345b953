// Sorting: blocks bring tiles into order in shared memory (a bitonic network: Batcher, "Sorting
// networks and their applications", 1968), then sorted runs are merged, each item finding its place
// in the other run by bisection. Keys and positions together make every sort a stable one.
#include "kernels/order.h"

#include "kernels/cpu/sort_key.h"
#include "kernels/cuda/sort_items.h"

namespace zoo::cuda {
namespace {

constexpr int64_t kMostTile = 1024;

__device__ inline bool before(const Item& a, const Item& b) {
  return a.key != b.key ? a.key < b.key : a.index < b.index;
}

// Each block sorts `tile` items (a power of two) of one row; behind the row's end nothing counts.
__global__ void __launch_bounds__(512)
    sort_tiles(Item* items, int64_t rows, int64_t n, int tile, int64_t tiles) {
  ZOO_DYNAMIC_SHARED(Item, held);
  for (int64_t b = blockIdx.x; b < rows * tiles; b += gridDim.x) {
    const int64_t first = b % tiles * tile;
    Item* const row = items + b / tiles * n;
    for (int i = static_cast<int>(threadIdx.x); i < tile; i += static_cast<int>(blockDim.x)) {
      const int64_t at = first + i;
      held[i] = at < n ? row[at] : Item{~uint64_t{0}, INT64_MAX};
    }
    __syncthreads();
    for (int size = 2; size <= tile; size *= 2) {
      for (int step = size / 2; step > 0; step /= 2) {
        for (int k = static_cast<int>(threadIdx.x); k < tile / 2; k += static_cast<int>(blockDim.x)) {
          const int low = k / step * 2 * step + k % step, high = low + step;
          const bool up = (low & size) == 0;
          if (before(held[high], held[low]) == up) {
            const Item kept = held[low];
            held[low] = held[high];
            held[high] = kept;
          }
        }
        __syncthreads();
      }
    }
    for (int i = static_cast<int>(threadIdx.x); i < tile; i += static_cast<int>(blockDim.x)) {
      if (first + i < n) row[first + i] = held[i];
    }
    __syncthreads();
  }
}

// Runs of `run` items, two by two, into runs of twice that.
__global__ void __launch_bounds__(kThreads)
    merge_runs(const Item* from, Item* to, int64_t rows, int64_t n, int64_t run) {
  for (int64_t i = thread_index(); i < rows * n; i += thread_count()) {
    const int64_t row = i / n * n, at = i % n;
    const int64_t pair = at / (2 * run) * 2 * run;
    const bool in_first = at - pair < run;
    const int64_t other = in_first ? pair + run : pair;
    const int64_t end = other + run < n ? other + run : n;
    const Item item = from[i];
    int64_t low = other, high = end > other ? end : other;
    while (low < high) {  // how many of the other run come before
      const int64_t middle = low + (high - low) / 2;
      if (before(from[row + middle], item)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const int64_t own = in_first ? at - pair : at - pair - run;
    to[row + pair + own + (low - other)] = item;
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    make_items(const T* in, Item* items, int64_t rows, int64_t n, bool descending,
               bool joined_zeros) {
  using U = typename KeyOf<T>::U;
  for (int64_t i = thread_index(); i < rows * n; i += thread_count()) {
    const U key = KeyOf<T>::to(in[i], joined_zeros);
    items[i] = {static_cast<uint64_t>(descending ? static_cast<U>(~key) : key), i % n};
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    take_items(const T* in, const Item* items, int64_t rows, int64_t n, int64_t keep, T* values,
               int64_t* indices) {
  for (int64_t i = thread_index(); i < rows * keep; i += thread_count()) {
    const int64_t row = i / keep, from = items[row * n + i % keep].index;
    if (values != nullptr) values[i] = in[row * n + from];
    if (indices != nullptr) indices[i] = from;
  }
}

template <class F>
void visit_real(DType dtype, F f) {
  if (is_complex(dtype)) no_kernel_for(dtype);
  visit_dtype(dtype, f);
}

void sort_cuda(const SortArgs& a, DType dtype) {
  const int64_t count = a.rows * a.n;
  if (count == 0 || a.keep == 0) return;
  DeviceScratch scratch(static_cast<size_t>(2 * count) * sizeof(Item));
  Item* items = scratch.as<Item>();
  visit_real(dtype, [&]<class T>() {
    const T* in = static_cast<const T*>(a.in);
    ZOO_LAUNCH(make_items<T>, blocks_for(count), kThreads, 0, in, items, a.rows, a.n, a.descending,
               a.indices != nullptr);
    const Item* sorted = sort_items(items, items + count, a.rows, a.n);
    ZOO_LAUNCH(take_items<T>, blocks_for(a.rows * a.keep), kThreads, 0, in, sorted, a.rows, a.n,
               a.keep, static_cast<T*>(a.values), a.indices);
  });
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    search(const T* sorted, int64_t n, const T* values, int64_t count, bool right, int64_t* out) {
  for (int64_t i = thread_index(); i < count; i += thread_count()) {
    const auto key = KeyOf<T>::to(values[i], true);
    int64_t low = 0, high = n;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      const auto here = KeyOf<T>::to(sorted[middle], true);
      if (right ? !(key < here) : here < key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    out[i] = low;
  }
}

void search_cuda(const SearchArgs& a, DType dtype) {
  if (a.count == 0) return;
  visit_real(dtype, [&]<class T>() {
    ZOO_LAUNCH(search<T>, blocks_for(a.count), kThreads, 0, static_cast<const T*>(a.sorted), a.n,
               static_cast<const T*>(a.values), a.count, a.right, a.out);
  });
}

}  // namespace

Item* sort_items(Item* items, Item* spare, int64_t rows, int64_t n) {
  if (rows * n == 0) return items;
  int64_t tile = 2;
  while (tile < n && tile < kMostTile) tile *= 2;
  const int64_t tiles = (n + tile - 1) / tile;
  const int threads = static_cast<int>(std::max<int64_t>(kWarp, tile / 2));
  ZOO_LAUNCH(sort_tiles, blocks_for(rows * tiles, 1), threads,
             static_cast<size_t>(tile) * sizeof(Item), items, rows, n, static_cast<int>(tile), tiles);
  for (int64_t run = tile; run < n; run *= 2) {
    ZOO_LAUNCH(merge_runs, blocks_for(rows * n), kThreads, 0, items, spare, rows, n, run);
    std::swap(items, spare);
  }
  return items;
}

}  // namespace zoo::cuda

ZOO_REGISTER_CUDA(sort_kernel, &zoo::cuda::sort_cuda);
ZOO_REGISTER_CUDA(search_kernel, &zoo::cuda::search_cuda);
