// Gathering, scattering and adding rows. Where indices repeat, the entries of one place are brought
// together, in their order, by a stable sort: of those that are put the last one stays, those that
// are added are added in order. So the same bits come out as on the CPU.
#include "kernels/index.h"

#include "kernels/cuda/elements.h"
#include "kernels/cuda/sort_items.h"

namespace zoo::cuda {
namespace {

// Element e of row i, on both sides.
struct Places {
  char *dense, *indexed;
};
__device__ inline Places places(const LoopPlan& row, const int64_t* offsets, int64_t dense_bytes,
                                int64_t i, int64_t e) {
  int64_t offset[2];
  locate(row, e, offset);
  return {row.data[0] + i * dense_bytes + offset[0], row.data[1] + offsets[i] + offset[1]};
}

template <class Bits>
__global__ void __launch_bounds__(kThreads)
    gather_elements(const __grid_constant__ LoopPlan row, const int64_t* offsets, int64_t count,
                    int64_t dense_bytes) {
  for (int64_t k = thread_index(); k < count * row.numel; k += thread_count()) {
    const Places at_k = places(row, offsets, dense_bytes, k / row.numel, k % row.numel);
    put<Bits>(at_k.dense, at<Bits>(at_k.indexed));
  }
}

void gather_rows_cuda(const RowsArgs& a, DType dtype) {
  const int64_t n = a.count * a.row.numel;
  if (n == 0) return;
  visit_bits(dtype, [&]<class Bits>() {
    ZOO_LAUNCH(gather_elements<Bits>, blocks_for(n), kThreads, 0, a.row, a.offsets, a.count,
               a.dense_bytes);
  });
}

__global__ void __launch_bounds__(kThreads)
    items_of_offsets(const int64_t* offsets, int64_t count, Item* items) {
  for (int64_t i = thread_index(); i < count; i += thread_count()) {
    // Offsets may be negative (flipped tensors): keys are in no order that matters.
    items[i] = {static_cast<uint64_t>(offsets[i]), i};
  }
}

Item* ordered(const RowsArgs& a, const DeviceScratch& scratch) {
  Item* items = scratch.as<Item>();
  ZOO_LAUNCH(items_of_offsets, blocks_for(a.count), kThreads, 0, a.offsets, a.count, items);
  return sort_items(items, items + a.count, 1, a.count);
}

template <class Bits>
__global__ void __launch_bounds__(kThreads)
    scatter_elements(const __grid_constant__ LoopPlan row, const int64_t* offsets,
                     const Item* items, int64_t count, int64_t dense_bytes) {
  for (int64_t k = thread_index(); k < count * row.numel; k += thread_count()) {
    const int64_t j = k / row.numel;
    if (j + 1 < count && items[j + 1].key == items[j].key) continue;  // a later one stays
    const Places to = places(row, offsets, dense_bytes, items[j].index, k % row.numel);
    put<Bits>(to.indexed, at<Bits>(to.dense));
  }
}

void scatter_rows_cuda(const RowsArgs& a, DType dtype) {
  const int64_t n = a.count * a.row.numel;
  if (n == 0) return;
  DeviceScratch scratch(static_cast<size_t>(2 * a.count) * sizeof(Item));
  const Item* items = ordered(a, scratch);
  visit_bits(dtype, [&]<class Bits>() {
    ZOO_LAUNCH(scatter_elements<Bits>, blocks_for(n), kThreads, 0, a.row, a.offsets, items, a.count,
               a.dense_bytes);
  });
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    add_elements(const __grid_constant__ LoopPlan row, const int64_t* offsets, const Item* items,
                 int64_t count, int64_t dense_bytes) {
  using C = ComputeType<T>;
  for (int64_t k = thread_index(); k < count * row.numel; k += thread_count()) {
    const int64_t first = k / row.numel, e = k % row.numel;
    const uint64_t key = items[first].key;
    if (first > 0 && items[first - 1].key == key) continue;  // an earlier one's thread adds it
    T* const to = reinterpret_cast<T*>(places(row, offsets, dense_bytes, items[first].index, e).indexed);
    T sum = *to;
    for (int64_t j = first; j < count && items[j].key == key; ++j) {
      const Places from = places(row, offsets, dense_bytes, items[j].index, e);
      sum = static_cast<T>(static_cast<C>(sum) + static_cast<C>(at<T>(from.dense)));
    }
    *to = sum;
  }
}

void add_rows_cuda(const RowsArgs& a, DType dtype) {
  const int64_t n = a.count * a.row.numel;
  if (n == 0) return;
  DeviceScratch scratch(static_cast<size_t>(2 * a.count) * sizeof(Item));
  const Item* items = ordered(a, scratch);
  visit_floating(dtype, [&]<class T>() {
    ZOO_LAUNCH(add_elements<T>, blocks_for(n), kThreads, 0, a.row, a.offsets, items, a.count,
               a.dense_bytes);
  });
}

}  // namespace
}  // namespace zoo::cuda

ZOO_REGISTER_CUDA(gather_rows_kernel, &zoo::cuda::gather_rows_cuda);
ZOO_REGISTER_CUDA(scatter_rows_kernel, &zoo::cuda::scatter_rows_cuda);
ZOO_REGISTER_CUDA(add_rows_kernel, &zoo::cuda::add_rows_cuda);
