// Rows of a table by number.
#include "kernels/embedding.h"

#include <algorithm>
#include <numeric>

#include "ops/fused.h"
#include "ops/ops.h"

namespace zoo {
namespace {

Tensor embedding_grad(const Tensor& grad, const Tensor& idx, const Dims& table_shape) {
  const int64_t count = idx.numel();
  const Tensor here = to_host(idx);
  const int64_t* rows = here.data<int64_t>();
  // Positions by row, in their own order within a row: repeated rows add up the same way however
  // many threads there are.
  std::vector<int64_t> order(count), distinct, start;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [rows](int64_t a, int64_t b) { return rows[a] < rows[b]; });
  for (int64_t k = 0; k < count; ++k) {
    const int64_t row = rows[order[k]];
    if (distinct.empty() || distinct.back() != row) {
      distinct.push_back(row);
      start.push_back(k);
    }
  }
  start.push_back(count);
  const Tensor g = contiguous(grad);
  const Tensor out = zeros(table_shape, g.dtype(), g.device());
  const EmbeddingGrad args{static_cast<int64_t>(distinct.size()), table_shape[1], distinct.data(),
                           start.data(), order.data()};
  embedding_grad_kernel.on(g.device().type)(g.dtype(), args, g.data(), out.data());
  if (needs_grad(g)) {
    record("embedding_grad", {g}, {out},
           [idx](Backward& bw) { bw.set(0, embedding(bw.grad(), idx)); });
  }
  return out;
}

}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& idx) {
  check_floating("embedding", weight);
  check(weight.ndim() == 2, "embedding: weight has shape ", to_string(weight.shape()),
        ", expected (rows, width)");
  check<TypeError>(is_integral(idx.dtype()), "embedding: idx is ", describe(idx),
                   ", expected integers: row numbers");
  Tensor rows = contiguous(astype(detach(idx), DType::kI64));
  if (rows.storage() == idx.storage() && needs_grad(weight)) rows = clone(rows);
  common_device("embedding", {&weight, &idx});
  const int64_t limit = weight.size(0);
  const Tensor here = to_host(rows);
  const int64_t* r = here.data<int64_t>();
  for (int64_t i = 0; i < here.numel(); ++i) {
    check<IndexError>(r[i] >= 0 && r[i] < limit, "embedding: index ", r[i], " at position ", i,
                      " (in reading order) is out of range: the table has ", limit, " rows");
  }
  const Tensor table = contiguous(weight);
  Dims shape = idx.shape();
  shape.push_back(weight.size(1));
  const Tensor y = empty(shape, weight.dtype(), weight.device());
  embedding_kernel.on(weight.device().type)(table.data(), rows.data<int64_t>(), rows.numel(),
                                            weight.size(1) * itemsize(weight.dtype()), y.data());
  if (needs_grad(table)) {
    record("embedding", {table}, {y}, [rows, table_shape = weight.shape()](Backward& bw) {
      const Tensor g = bw.grad();
      const DType dtype = g.dtype();
      const Tensor wide = is_narrow(dtype) ? astype(g, DType::kF32) : g;
      bw.set(0, astype(embedding_grad(wide, rows, table_shape), dtype));
    });
  }
  return y;
}

}  // namespace zoo
