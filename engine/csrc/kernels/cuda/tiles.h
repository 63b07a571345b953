// Products of matrices that are read element by element through functors: plain matrices of any
// strides, and the windows of pictures. Tiles pass through shared memory. These are the kernels for
// what cuBLASLt and cuDNN do not take, and for machines that have neither.
#pragma once

#include "kernels/cuda/launch.h"

namespace zoo::cuda {

// A block of kTileThreads makes a tile of kTile x kTile, kDepth of the sum at a time; a thread of it
// makes kEach x kEach numbers.
inline constexpr int kTile = 64, kDepth = 16, kEach = 4, kSide = kTile / kEach;
inline constexpr int kTileThreads = kSide * kSide;
// Steps after which sums move on to a second set of registers: long sums in float lose less.
inline constexpr int kFold = 32;

// What is multiplied: `batch` products of m x k by k x n.
struct ProductShape {
  int64_t m, n, k, batch;
};

// left(batch, row, depth), right(batch, depth, column): the elements, asked for only where they
// exist. left.along_depth, right.along_columns: whether neighbours in that direction are neighbours
// in memory. store(batch, row, column, sum) takes the results.
template <class T, class Left, class Right, class Store>
__global__ void multiply_tiles(ProductShape s, Left left, Right right, Store store) {
  __shared__ T left_tile[kDepth][kTile + 1];
  __shared__ T right_tile[kDepth][kTile + 1];
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t row0 = static_cast<int64_t>(blockIdx.y) * kTile;
  const int64_t column0 = static_cast<int64_t>(blockIdx.x) * kTile;
  const int row = thread / kSide * kEach, column = thread % kSide * kEach;
  for (int64_t b = blockIdx.z; b < s.batch; b += gridDim.z) {
    T total[kEach][kEach] = {}, sum[kEach][kEach] = {};
    int steps = 0;
    for (int64_t k0 = 0; k0 < s.k; k0 += kDepth) {
      for (int e = thread; e < kTile * kDepth; e += kTileThreads) {
        const int r = left.along_depth ? e / kDepth : e % kTile;
        const int d = left.along_depth ? e % kDepth : e / kTile;
        const bool there = row0 + r < s.m && k0 + d < s.k;
        left_tile[d][r] = there ? left(b, row0 + r, k0 + d) : T(0);
      }
      for (int e = thread; e < kTile * kDepth; e += kTileThreads) {
        const int c = right.along_columns ? e % kTile : e / kDepth;
        const int d = right.along_columns ? e / kTile : e % kDepth;
        const bool there = column0 + c < s.n && k0 + d < s.k;
        right_tile[d][c] = there ? right(b, k0 + d, column0 + c) : T(0);
      }
      __syncthreads();
      for (int d = 0; d < kDepth; ++d) {
        T x[kEach], y[kEach];
        for (int i = 0; i < kEach; ++i) x[i] = left_tile[d][row + i];
        for (int j = 0; j < kEach; ++j) y[j] = right_tile[d][column + j];
        for (int i = 0; i < kEach; ++i) {
          for (int j = 0; j < kEach; ++j) sum[i][j] += x[i] * y[j];
        }
      }
      __syncthreads();
      if (++steps == kFold) {
        steps = 0;
        for (int i = 0; i < kEach; ++i) {
          for (int j = 0; j < kEach; ++j) {
            total[i][j] += sum[i][j];
            sum[i][j] = 0;
          }
        }
      }
    }
    for (int i = 0; i < kEach; ++i) {
      for (int j = 0; j < kEach; ++j) {
        if (row0 + row + i < s.m && column0 + column + j < s.n) {
          store(b, row0 + row + i, column0 + column + j, total[i][j] + sum[i][j]);
        }
      }
    }
  }
}

// Nothing to do for an empty result; a sum of nothing is stored as 0.
template <class T, class Left, class Right, class Store>
void multiply(ProductShape s, const Left& left, const Right& right, const Store& store) {
  if (s.m == 0 || s.n == 0 || s.batch == 0) return;
  const auto tiles = [](int64_t n) { return static_cast<unsigned>((n + kTile - 1) / kTile); };
  // A grid's second and third sizes end at 65535.
  const int64_t most = int64_t{65535} * kTile;
  for (int64_t first = 0; first < s.m; first += most) {
    const ProductShape part{s.m - first < most ? s.m - first : most, s.n, s.k, s.batch};
    ZOO_LAUNCH((multiply_tiles<T, Left, Right, Store>),
               dim3(tiles(s.n), tiles(part.m),
                    static_cast<unsigned>(s.batch < 65535 ? s.batch : 65535)),
               dim3(kTileThreads), 0, part, left.from_row(first), right, store.from_row(first));
  }
}

}  // namespace zoo::cuda
