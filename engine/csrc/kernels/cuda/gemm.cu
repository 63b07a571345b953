// Matrix products: cuBLASLt where it takes the layout, tiles of our own otherwise.
#include "kernels/gemm.h"

#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/team.h"
#include "kernels/cuda/tiles.h"

namespace zoo {
namespace {

template <class T>
struct LeftMatrix {
  const T* data;
  int64_t row, column, batch;
  bool along_depth;

  LeftMatrix from_row(int64_t first) const {
    return {data + first * row, row, column, batch, along_depth};
  }
  __device__ ComputeType<T> operator()(int64_t b, int64_t i, int64_t k) const {
    return data[b * batch + i * row + k * column];
  }
};

template <class T>
struct RightMatrix {
  const T* data;
  int64_t row, column, batch;
  bool along_columns;

  __device__ ComputeType<T> operator()(int64_t b, int64_t k, int64_t j) const {
    return data[b * batch + k * row + j * column];
  }
};

template <class T>
struct StoreMatrix {
  T* data;
  int64_t row, batch;
  const T* bias;
  bool accumulate, relu;

  StoreMatrix from_row(int64_t first) const {
    return {data + first * row, row, batch, bias, accumulate, relu};
  }
  __device__ void operator()(int64_t b, int64_t i, int64_t j, ComputeType<T> v) const {
    using C = ComputeType<T>;
    T& to = data[b * batch + i * row + j];
    if (bias != nullptr) v += static_cast<C>(bias[j]);
    if (accumulate) v += static_cast<C>(to);
    to = static_cast<T>(relu && v < C(0) ? C(0) : v);
  }
};

void gemm(DType dtype, const GemmArgs& g) {
  if (cuda::multiply_by_cublaslt(dtype, g)) return;
  visit_floating(dtype, [&]<class T>() {
    cuda::multiply<ComputeType<T>>(
        {g.m, g.n, g.k, g.batch},
        LeftMatrix<T>{static_cast<const T*>(g.a), g.a_row, g.a_col, g.a_batch, g.a_col == 1},
        RightMatrix<T>{static_cast<const T*>(g.b), g.b_row, g.b_col, g.b_batch, g.b_col == 1},
        StoreMatrix<T>{static_cast<T*>(g.c), g.c_row, g.c_batch, static_cast<const T*>(g.bias),
                       g.accumulate, g.relu});
  });
}

}  // namespace

ZOO_REGISTER_CUDA(gemm_kernel, &gemm);

}  // namespace zoo
