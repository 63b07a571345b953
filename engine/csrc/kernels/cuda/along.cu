// Picking and placing single elements along one axis; counting. Where indices repeat, see index.cu.
#include "kernels/along.h"

#include "kernels/cuda/elements.h"
#include "kernels/cuda/sort_items.h"

namespace zoo::cuda {
namespace {

constexpr uint64_t kNowhere = ~uint64_t{0};  // the key of an index that names no place

// AlongArgs with a place in the device's memory for what lies outside.
struct Along {
  AlongArgs a;
  unsigned long long* outside;  // the first position whose index is out of range, or ~0
};

__device__ inline char* row_of(const AlongArgs& a, int64_t row) {
  char* to = a.base;
  for (int d = 0; d < a.outer_ndim; ++d) {
    to += row % a.outer_shape[d] * a.outer_strides[d];
    row /= a.outer_shape[d];
  }
  return to;
}

// The index at `position`, from 0 on; -1 if it is out of range, which is then noted.
__device__ inline int64_t index_at(const Along& along, int64_t position) {
  const int64_t i = along.a.index[position];
  if (i < -along.a.size || i >= along.a.size) {
    atomicMin(along.outside, static_cast<unsigned long long>(position));
    return -1;
  }
  return i < 0 ? i + along.a.size : i;
}

template <class Bits>
__global__ void __launch_bounds__(kThreads) gather_along(const __grid_constant__ Along along) {
  const AlongArgs& a = along.a;
  for (int64_t p = thread_index(); p < a.rows * a.count; p += thread_count()) {
    const int64_t i = index_at(along, p);
    if (i >= 0) put<Bits>(a.dense + p * sizeof(Bits), at<Bits>(row_of(a, p / a.count) + i * a.step));
  }
}

__global__ void __launch_bounds__(kThreads)
    items_of_indices(const __grid_constant__ Along along, Item* items) {
  const AlongArgs& a = along.a;
  for (int64_t p = thread_index(); p < a.rows * a.count; p += thread_count()) {
    const int64_t i = index_at(along, p);
    items[p] = {i < 0 ? kNowhere : static_cast<uint64_t>(p / a.count * a.size + i), p};
  }
}

__device__ inline char* place_of(const AlongArgs& a, uint64_t key) {
  return row_of(a, static_cast<int64_t>(key) / a.size) + static_cast<int64_t>(key) % a.size * a.step;
}

template <class Bits>
__global__ void __launch_bounds__(kThreads)
    scatter_items(const __grid_constant__ Along along, const Item* items) {
  const AlongArgs& a = along.a;
  const int64_t n = a.rows * a.count;
  for (int64_t j = thread_index(); j < n; j += thread_count()) {
    const uint64_t key = items[j].key;
    if (key == kNowhere || (j + 1 < n && items[j + 1].key == key)) continue;
    put<Bits>(place_of(a, key), at<Bits>(a.dense + items[j].index * sizeof(Bits)));
  }
}

template <class C>
__global__ void __launch_bounds__(kThreads)
    add_items(const __grid_constant__ Along along, const Item* items, DType dtype) {
  const AlongArgs& a = along.a;
  const int64_t n = a.rows * a.count, size = itemsize(dtype);
  for (int64_t first = thread_index(); first < n; first += thread_count()) {
    const uint64_t key = items[first].key;
    if (key == kNowhere || (first > 0 && items[first - 1].key == key)) continue;
    char* const to = place_of(a, key);
    for (int64_t j = first; j < n && items[j].key == key; ++j) {
      // Rounded after each, as where one follows the other.
      const C sum = read_element<C>(to, dtype) + read_element<C>(a.dense + items[j].index * size, dtype);
      write_element(to, dtype, sum);
    }
  }
}

// Runs `body` with a place for what is out of range, and tells the operation of it.
template <class Body>
void with_range_check(const AlongArgs& a, Body body) {
  DeviceScratch found(sizeof(unsigned long long));
  auto* outside = found.as<unsigned long long>();
  set_bytes(outside, 0xff, sizeof *outside);
  body(Along{a, outside});
  unsigned long long position = 0;
  copy_to_host(&position, outside, sizeof position);
  if (position != ~0ull) *a.outside = static_cast<int64_t>(position);
}

void gather_cuda(const AlongArgs& a, DType dtype) {
  if (a.rows * a.count == 0) return;
  with_range_check(a, [&](const Along& along) {
    visit_bits(dtype, [&]<class Bits>() {
      ZOO_LAUNCH(gather_along<Bits>, blocks_for(a.rows * a.count), kThreads, 0, along);
    });
  });
}

template <class Body>
void with_items(const AlongArgs& a, Body body) {
  const int64_t n = a.rows * a.count;
  if (n == 0) return;
  DeviceScratch scratch(static_cast<size_t>(2 * n) * sizeof(Item));
  with_range_check(a, [&](const Along& along) {
    Item* items = scratch.as<Item>();
    ZOO_LAUNCH(items_of_indices, blocks_for(n), kThreads, 0, along, items);
    body(along, sort_items(items, items + n, 1, n), n);
  });
}

void scatter_cuda(const AlongArgs& a, DType dtype) {
  with_items(a, [&](const Along& along, const Item* items, int64_t n) {
    visit_bits(dtype, [&]<class Bits>() {
      ZOO_LAUNCH(scatter_items<Bits>, blocks_for(n), kThreads, 0, along, items);
    });
  });
}

void scatter_add_cuda(const AlongArgs& a, DType dtype) {
  with_items(a, [&](const Along& along, const Item* items, int64_t n) {
    visit_arithmetic(dtype, [&]<class C>() {
      ZOO_LAUNCH(add_items<C>, blocks_for(n), kThreads, 0, along, items, dtype);
    });
  });
}

__global__ void __launch_bounds__(kThreads)
    count_values(const int64_t* values, int64_t n, int64_t* out, int64_t length) {
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    // Whole numbers: the order of additions does not show.
    atomicAdd(reinterpret_cast<unsigned long long*>(out) + values[i], 1ull);
  }
}

void bincount_cuda(const int64_t* values, int64_t n, int64_t* out, int64_t length) {
  if (n == 0) return;
  ZOO_LAUNCH(count_values, blocks_for(n), kThreads, 0, values, n, out, length);
}

}  // namespace
}  // namespace zoo::cuda

ZOO_REGISTER_CUDA(gather_kernel, &zoo::cuda::gather_cuda);
ZOO_REGISTER_CUDA(scatter_kernel, &zoo::cuda::scatter_cuda);
ZOO_REGISTER_CUDA(scatter_add_kernel, &zoo::cuda::scatter_add_cuda);
ZOO_REGISTER_CUDA(bincount_kernel, &zoo::cuda::bincount_cuda);
