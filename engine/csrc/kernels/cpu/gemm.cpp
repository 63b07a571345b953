// Matrix products of any strides: blocked for large ones, dot products for skinny ones.
#include "kernels/gemm.h"

#include "kernels/cpu/gemm_driver.h"
#include "kernels/cpu/gemm_skinny.h"

namespace zoo {
namespace {

template <class T>
void product(const GemmArgs& g, int64_t batch) {
  const T* a = static_cast<const T*>(g.a) + batch * g.a_batch;
  const T* b = static_cast<const T*>(g.b) + batch * g.b_batch;
  Output<T> out;
  out.c = static_cast<T*>(g.c) + batch * g.c_batch;
  out.bias = static_cast<const T*>(g.bias);
  out.accumulate = g.accumulate;
  out.relu = g.relu;
  if (is_skinny(g)) return skinny_product<T>(g, a, b, out);
  const StridedPanels<T> right{b, g.b_row, g.b_col};
  if (g.a_col == 1 || g.k == 1) {
    multiply<T>(g.m, g.n, g.k, DenseRows<T>{a, g.a_row, g.c_row}, right, out);
  } else {
    multiply<T>(g.m, g.n, g.k, StridedRows<T>{a, g.a_row, g.a_col, g.c_row}, right, out);
  }
}

template <class T>
void products(const GemmArgs& g) {
  const int64_t work = larger(1, g.m) * larger(1, g.n) * larger(1, g.k);
  // Few large products split inside, many small ones among threads.
  if (g.batch < 2 * num_threads() && work > 16 * kWorthAThread) {
    for (int64_t i = 0; i < g.batch; ++i) product<T>(g, i);
    return;
  }
  parallel_for(0, g.batch, kWorthAThread / work + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) product<T>(g, i);
  });
}

void gemm(DType dtype, const GemmArgs& g) {
  if (dtype == DType::kF64) return products<double>(g);
  products<float>(g);
}

}  // namespace

ZOO_REGISTER_CPU(gemm_kernel, &gemm);

}  // namespace zoo
