// Walks over matrices of rows x channels whose rows are contiguous, for batch normalisation and the
// gradients of layer normalisation: neighbouring threads take neighbouring columns.
#pragma once

#include "kernels/cuda/launch.h"
#include "kernels/norm.h"

namespace zoo::cuda {

// A block is kColumns columns wide, and kRows rows of it are in flight.
inline constexpr int kColumns = 32, kRows = 8;

inline unsigned parts_of(int64_t n, int64_t each) {
  return static_cast<unsigned>((n + each - 1) / each);
}

// Rows of one partial sum depend on the shape alone, so that results do not depend on the device.
struct RowChunks {
  int64_t each, count;

  explicit RowChunks(RowShape s) {
    each = (s.rows + 255) / 256;
    each = each < 64 ? 64 : (each + kRows - 1) / kRows * kRows;
    count = s.rows == 0 ? 0 : (s.rows + each - 1) / each;
  }
};

// Two sums by column. Terms is called for every element, as terms(row, column, first, second), and
// adds to them.
template <class T, class Terms>
__global__ void column_sums_of_chunks(RowShape s, int64_t each, Terms terms, double* partial) {
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kColumns + threadIdx.x;
  const int64_t begin = static_cast<int64_t>(blockIdx.y) * each;
  const int64_t end = begin + each < s.rows ? begin + each : s.rows;
  T first = 0, second = 0;
  if (column < s.width) {
    for (int64_t row = begin + threadIdx.y; row < end; row += kRows) {
      terms(row, column, first, second);
    }
  }
  __shared__ double shared[2][kRows][kColumns];
  shared[0][threadIdx.y][threadIdx.x] = static_cast<double>(first);
  shared[1][threadIdx.y][threadIdx.x] = static_cast<double>(second);
  __syncthreads();
  if (threadIdx.y > 1 || column >= s.width) return;
  double total = 0;
  for (int r = 0; r < kRows; ++r) total += shared[threadIdx.y][r][threadIdx.x];
  partial[(static_cast<int64_t>(blockIdx.y) * 2 + threadIdx.y) * s.width + column] = total;
}

// The chunks' sums, added up in order.
template <class Result>
__global__ void join_chunks(int64_t width, int64_t chunks, const double* partial, Result* first,
                            Result* second) {
  const int64_t i = thread_index();
  if (i >= 2 * width) return;
  double total = 0;
  for (int64_t c = 0; c < chunks; ++c) total += partial[c * 2 * width + i];
  (i < width ? first[i] : second[i - width]) = total;
}

// first and second: `width` numbers each, on the device.
template <class T, class Terms>
void sum_columns(RowShape s, Terms terms, double* first, double* second) {
  const RowChunks chunks(s);
  if (s.width == 0) return;
  const DeviceScratch partial(static_cast<size_t>(chunks.count * 2 * s.width) * sizeof(double));
  double* const parts = partial.as<double>();
  if (chunks.count > 0) {
    ZOO_LAUNCH((column_sums_of_chunks<T, Terms>),
               dim3(parts_of(s.width, kColumns), static_cast<unsigned>(chunks.count)),
               dim3(kColumns, kRows), 0, s, chunks.each, terms, parts);
  }
  ZOO_LAUNCH(join_chunks<double>, parts_of(2 * s.width, 128), 128, 0, s.width, chunks.count, parts,
             first, second);
}

// Calls body(row, column) for every element.
template <class Body>
__global__ void each_element(RowShape s, Body body) {
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kColumns + threadIdx.x;
  if (column >= s.width) return;
  const int64_t step = static_cast<int64_t>(gridDim.y) * kRows;
  for (int64_t row = static_cast<int64_t>(blockIdx.y) * kRows + threadIdx.y; row < s.rows;
       row += step) {
    body(row, column);
  }
}

template <class Body>
void for_each_element(RowShape s, Body body) {
  if (s.rows == 0 || s.width == 0) return;
  const unsigned rows = parts_of(s.rows, kRows);
  ZOO_LAUNCH((each_element<Body>), dim3(parts_of(s.width, kColumns), rows < 4096 ? rows : 4096),
             dim3(kColumns, kRows), 0, s, body);
}

}  // namespace zoo::cuda
