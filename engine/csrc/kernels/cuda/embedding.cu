// Rows of a table, and the sums of their gradients in a fixed order.
#include "kernels/embedding.h"

#include "kernels/cuda/staging.h"
#include "kernels/cuda/team.h"

namespace zoo {
namespace {

using cuda::kThreads;

// In units of U: rows whose size and addresses are multiples of 16 go 16 bytes at a time.
template <class U>
__global__ void gather_rows_of_table(const U* table, const int64_t* index, int64_t count,
                                     int64_t units, U* y) {
  const int64_t total = count * units;
  for (int64_t i = cuda::thread_index(); i < total; i += cuda::thread_count()) {
    y[i] = table[index[i / units] * units + i % units];
  }
}

template <class U>
void gather_units(const void* table, const int64_t* index, int64_t count, int64_t bytes, void* y) {
  const int64_t units = bytes / static_cast<int64_t>(sizeof(U));
  ZOO_LAUNCH(gather_rows_of_table<U>, cuda::blocks_for(count * units), kThreads, 0,
             static_cast<const U*>(table), index, count, units, static_cast<U*>(y));
}

void gather(const void* table, const int64_t* index, int64_t count, int64_t bytes, void* y) {
  if (count == 0 || bytes == 0) return;
  const auto fits = [&](uintptr_t unit) {
    return (reinterpret_cast<uintptr_t>(table) | reinterpret_cast<uintptr_t>(y) |
            static_cast<uintptr_t>(bytes)) % unit == 0;
  };
  if (fits(16)) {
    gather_units<Bits128>(table, index, count, bytes, y);
  } else if (fits(4)) {
    gather_units<uint32_t>(table, index, count, bytes, y);
  } else {
    gather_units<uint8_t>(table, index, count, bytes, y);
  }
}

// A block takes a distinct row and a stretch of its columns.
template <class T>
__global__ void add_up_rows(EmbeddingGrad a, const T* grad, T* grad_table) {
  const int64_t column = static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x;
  if (column >= a.width) return;
  for (int64_t r = blockIdx.x; r < a.distinct; r += gridDim.x) {
    T sum = 0;
    for (int64_t k = a.start[r]; k < a.start[r + 1]; ++k) {
      sum += grad[a.order[k] * a.width + column];
    }
    grad_table[a.row[r] * a.width + column] = sum;
  }
}

void embedding_grad(DType dtype, const EmbeddingGrad& a, const void* grad, void* grad_table) {
  if (a.distinct == 0 || a.width == 0) return;
  const cuda::Input<int64_t> row(a.row, a.distinct), start(a.start, a.distinct + 1);
  const cuda::Input<int64_t> order(a.order, a.start[a.distinct]);
  const EmbeddingGrad there{a.distinct, a.width, row.data(), start.data(), order.data()};
  const int64_t rows = a.distinct < 65536 ? a.distinct : 65536;
  cuda::with_real(dtype, [&](auto t) {
    using T = decltype(t);
    ZOO_LAUNCH((add_up_rows<T>),
               dim3(static_cast<unsigned>(rows),
                    static_cast<unsigned>((a.width + kThreads - 1) / kThreads)),
               dim3(kThreads), 0, there, static_cast<const T*>(grad), static_cast<T*>(grad_table));
  });
}

}  // namespace

ZOO_REGISTER_CUDA(embedding_kernel, &gather);
ZOO_REGISTER_CUDA(embedding_grad_kernel, &embedding_grad);

}  // namespace zoo
