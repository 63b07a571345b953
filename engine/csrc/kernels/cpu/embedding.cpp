// Gathering rows of a table, and adding up their gradients.
#include "kernels/embedding.h"

#include "core/parallel.h"
#include "kernels/cpu/row_vector.h"

namespace zoo {
namespace {

void gather(const void* table, const int64_t* index, int64_t count, int64_t bytes, void* y) {
  parallel_for(0, count, 65536 / (bytes + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::memcpy(static_cast<char*>(y) + i * bytes,
                  static_cast<const char*>(table) + index[i] * bytes, static_cast<size_t>(bytes));
    }
  });
}

template <class T>
void add_up(const EmbeddingGrad& a, const T* grad, T* grad_table) {
  const int64_t n = a.width;
  parallel_for(0, a.distinct, 8192 / (n + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      T* out = grad_table + a.row[r] * n;
      along<T>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::type;
        V sum{};
        for (int64_t k = a.start[r]; k < a.start[r + 1]; ++k) {
          sum += load<V>(grad + a.order[k] * n + i);
        }
        store(out + i, sum);
      });
    }
  });
}

void embedding_grad(DType dtype, const EmbeddingGrad& a, const void* grad, void* grad_table) {
  if (dtype == DType::kF64) {
    add_up(a, static_cast<const double*>(grad), static_cast<double*>(grad_table));
  } else {
    add_up(a, static_cast<const float*>(grad), static_cast<float*>(grad_table));
  }
}

}  // namespace

ZOO_REGISTER_CPU(embedding_kernel, &gather);
ZOO_REGISTER_CPU(embedding_grad_kernel, &embedding_grad);

}  // namespace zoo
