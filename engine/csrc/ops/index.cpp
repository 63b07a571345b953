// Indexing with numpy's rules: integers and slices make views; tensors of integers or booleans
// select, and repeated integers add up in the gradient.
#include <algorithm>
#include <atomic>
#include <numeric>

#include "autograd/node.h"
#include "core/parallel.h"
#include "kernels/index.h"
#include "ops/complex.h"
#include "ops/ops.h"
#include "ops/view.h"

namespace zoo {
namespace {

// Indices below which starting another thread costs more than it saves.
constexpr int64_t kIndexGrain = 32768;
// Truths of a mask that are looked at together.
constexpr int64_t kMaskBlock = 4096;

// t[basic parts] as a view, and the tensor indices left to apply: each to one axis of the view.
struct Parsed {
  Tensor view;
  std::vector<Tensor> indices;  // int64
  std::vector<int> axes;
  bool adjacent = true;
};

std::vector<Index> expand_ellipsis(const Tensor& t, const std::vector<Index>& indices) {
  int used = 0, ellipses = 0;
  for (const Index& i : indices) {
    ellipses += i.kind == Index::Kind::kEllipsis;
    if (i.kind == Index::Kind::kInteger || i.kind == Index::Kind::kSlice) ++used;
    if (i.kind == Index::Kind::kTensor) used += is_bool(i.tensor.dtype()) ? i.tensor.ndim() : 1;
  }
  check<IndexError>(ellipses <= 1, "index: at most one ellipsis (...) is allowed");
  check<IndexError>(used <= t.ndim(), "index: ", used, " indices for a tensor of ", t.ndim(),
                    " dimensions, shape ", to_string(t.shape()));
  std::vector<Index> out;
  for (const Index& i : indices) {
    if (i.kind == Index::Kind::kEllipsis) {
      // Length 1 is a whole axis; length 0 none, but it still stands between its neighbours.
      if (used == t.ndim()) out.push_back({Index::Kind::kEllipsis, 0, 0, 1, {}});
      for (int k = used; k < t.ndim(); ++k) {
        out.push_back({Index::Kind::kEllipsis, 0, 1, 1, {}});
      }
    } else {
      out.push_back(i);
    }
  }
  return out;
}

Parsed parse(const Tensor& t, const std::vector<Index>& given) {
  const std::vector<Index> indices = expand_ellipsis(t, given);
  bool selects = false;
  for (const Index& i : indices) selects = selects || i.kind == Index::Kind::kTensor;
  Parsed p{t, {}, {}, true};
  int axis = 0;
  int last = -1;
  bool gap = false;
  const auto add = [&](Tensor index) {
    p.adjacent = p.adjacent && (last < 0 || (last == axis - 1 && !gap));
    last = axis;
    p.indices.push_back(std::move(index));
    p.axes.push_back(axis++);
  };
  for (const Index& i : indices) {
    switch (i.kind) {
      case Index::Kind::kEllipsis:
        gap = gap || last >= 0;
        axis += static_cast<int>(i.length);
        break;
      case Index::Kind::kNewAxis: p.view = expand_dims(p.view, axis++); break;
      case Index::Kind::kSlice:
        p.view = slice(p.view, axis++, i.start, i.length, i.step);
        break;
      case Index::Kind::kInteger: {
        const int64_t size = p.view.shape()[axis];
        check<IndexError>(i.start >= -size && i.start < size, "index: ", i.start,
                          " is out of range for axis ", axis, " of size ", size);
        const int64_t at = i.start < 0 ? i.start + size : i.start;
        if (selects) {  // beside tensors an integer selects too, as in numpy
          add(full({}, static_cast<double>(at), DType::kI64));
        } else {
          p.view = squeeze(slice(p.view, axis, at, 1, 1), {axis});
        }
        break;
      }
      case Index::Kind::kTensor:
        if (is_bool(i.tensor.dtype()) && i.tensor.ndim() == 0) {
          // One truth for all: a new axis, of which it selects the one place or none.
          p.view = expand_dims(p.view, axis);
          add(zeros({*to_host(detach(i.tensor)).data<bool>() ? 1 : 0}, DType::kI64));
        } else if (is_bool(i.tensor.dtype())) {
          for (int d = 0; d < i.tensor.ndim(); ++d) {
            const int64_t size = i.tensor.shape()[d];  // 0 selects nothing, wherever
            check<IndexError>(size == 0 || size == p.view.shape()[axis + d],
                              "index: a boolean mask of shape ", to_string(i.tensor.shape()),
                              " does not fit axis ", axis + d, " of shape ",
                              to_string(p.view.shape()));
          }
          for (const Tensor& positions : nonzero(i.tensor)) add(positions);
        } else {
          check<IndexError>(is_integral(i.tensor.dtype()),
                            "index: a tensor used as an index must hold integers or bool, got ",
                            dtype_name(i.tensor.dtype()));
          add(astype(i.tensor, DType::kI64));
        }
        break;
    }
  }
  return p;
}

// Rows of `view` that the indices select, in the order of their common shape.
struct Selection {
  Dims index_shape;             // common shape of the indices
  Tensor rows;                  // the view with the indexed axes dropped (their first elements)
  Tensor offsets;               // int64, in bytes, one per selected row
  int position = 0;             // where index_shape stands in the result
  Dims result_shape;
};

Selection select(const Parsed& p) {
  Selection s;
  try {
    for (const Tensor& i : p.indices) {
      s.index_shape = broadcast_shapes("index", s.index_shape, i.shape());
    }
  } catch (const ValueError& error) {
    throw IndexError(error.what());
  }
  const int64_t count = s.index_shape.product();
  s.offsets = empty({count}, DType::kI64);
  int64_t* const offsets = s.offsets.data<int64_t>();
  const int64_t size = itemsize(p.view.dtype());
  for (size_t k = 0; k < p.indices.size(); ++k) {
    const Tensor i = contiguous(broadcast_to(to_host(detach(p.indices[k])), s.index_shape));
    const int64_t* values = i.data<int64_t>();
    const int64_t length = p.view.shape()[p.axes[k]];
    const int64_t step = p.view.strides()[p.axes[k]] * size;
    std::atomic<bool> fits{true};
    parallel_for(0, count, kIndexGrain, [&](int64_t begin, int64_t end) {
      bool all = true;
      for (int64_t n = begin; n < end; ++n) {
        const int64_t v = values[n];
        all &= v >= -length && v < length;
        offsets[n] = (k == 0 ? 0 : offsets[n]) + (v < 0 ? v + length : v) * step;
      }
      if (!all) fits.store(false, std::memory_order_relaxed);
    });
    if (fits.load()) continue;
    const int64_t* bad = std::find_if(
        values, values + count, [length](int64_t v) { return v < -length || v >= length; });
    throw IndexError(concat_text("index: ", *bad, " (position ", bad - values,
                                 " of the index) is out of range for axis ", p.axes[k],
                                 " of size ", length));
  }
  s.offsets = to_device(s.offsets, p.view.device());
  Dims shape, strides;
  for (int d = 0, k = 0; d < p.view.ndim(); ++d) {
    if (k < static_cast<int>(p.axes.size()) && p.axes[k] == d) {
      ++k;
      continue;
    }
    shape.push_back(p.view.shape()[d]);
    strides.push_back(p.view.strides()[d]);
  }
  s.rows = alias(p.view, shape, strides, p.view.offset());
  s.position = p.adjacent ? p.axes[0] : 0;
  s.result_shape = shape;
  for (int d = 0; d < s.index_shape.size(); ++d) {
    s.result_shape.insert(s.position + d, s.index_shape[d]);
  }
  return s;
}

// Moves index_shape from the front, where kernels work, to its place in the result; and back.
Tensor from_front(const Tensor& t, const Selection& s) {
  Dims axes;
  const int n = s.index_shape.size();
  for (int d = 0; d < s.position; ++d) axes.push_back(n + d);
  for (int d = 0; d < n; ++d) axes.push_back(d);
  for (int d = n + s.position; d < t.ndim(); ++d) axes.push_back(d);
  return permute_dims(t, axes);
}
Tensor to_front(const Tensor& t, const Selection& s) {
  Dims axes;
  const int n = s.index_shape.size();
  for (int d = 0; d < n; ++d) axes.push_back(s.position + d);
  for (int d = 0; d < t.ndim(); ++d) {
    if (d < s.position || d >= s.position + n) axes.push_back(d);
  }
  return permute_dims(t, axes);
}

RowsArgs rows_args(const Selection& s, const Tensor& dense, const Tensor& rows) {
  RowsArgs args;
  const Tensor first = alias(dense, rows.shape(), contiguous_strides(rows.shape()), dense.offset());
  args.row = make_loop(rows.shape(), {&first, &rows});
  args.offsets = s.offsets.data<int64_t>();
  args.count = s.offsets.numel();
  args.dense_bytes = rows.numel() * itemsize(rows.dtype());
  return args;
}

Tensor empty_front(const Selection& s) {
  Dims shape = s.index_shape;
  for (int64_t d : s.rows.shape()) shape.push_back(d);
  return empty(shape, s.rows.dtype(), s.rows.device());
}

Tensor accumulate(const Tensor& g, const Dims& base_shape, const std::vector<Index>& indices);

}  // namespace

Tensor index(const Tensor& t, const std::vector<Index>& indices) {
  Parsed p = parse(t, indices);
  if (p.indices.empty()) return p.view.same_impl(t) ? make_view(t, t.shape(), t.strides(), t.offset()) : p.view;
  Tensor out;
  {
    GradMode off(false);
    const Selection s = select(p);
    Tensor front = empty_front(s);
    if (front.numel() > 0) {
      gather_rows_kernel.on(t.device().type)(rows_args(s, front, s.rows), t.dtype());
    }
    out = detach(from_front(front, s));
  }
  if (needs_grad(t)) {
    record("index", {t}, {out}, [shape = t.shape(), indices](Backward& bw) {
      bw.set(0, accumulate(bw.grad(), shape, indices));
    });
  }
  return out;
}

namespace {

Tensor accumulate(const Tensor& g, const Dims& base_shape, const std::vector<Index>& indices) {
  if (is_complex(g.dtype())) {
    return join_parts(accumulate(real(g), base_shape, indices),
                      accumulate(imag(g), base_shape, indices));
  }
  Tensor base = zeros(base_shape, g.dtype(), g.device());
  {
    GradMode off(false);
    const Parsed p = parse(base, indices);
    const Selection s = select(p);
    const Tensor front = contiguous(to_front(detach(g), s));
    if (front.numel() > 0) {
      add_rows_kernel.on(g.device().type)(rows_args(s, front, s.rows), g.dtype());
    }
  }
  if (needs_grad(g)) {
    record("index_backward", {g}, {base},
           [indices](Backward& bw) { bw.set(0, index(bw.grad(), indices)); });
  }
  return base;
}

}  // namespace

void set_index(const Tensor& t, const std::vector<Index>& indices, const Tensor& value) {
  const bool records = needs_grad(t, value) && is_differentiable(t.dtype());
  check<TypeError>(is_complex(t.dtype()) || !is_complex(value.dtype()), "setitem: ",
                   dtype_name(t.dtype()), " cannot hold ", dtype_name(value.dtype()),
                   " numbers; take real, imag or abs first");
  check_inplace("setitem", t, records);
  {
    GradMode off(false);
    const Parsed p = parse(t, indices);
    common_device("setitem", {&t, &value});
    const Tensor source = value.storage() == t.storage() ? clone(value) : value;
    if (p.indices.empty()) {
      copy_(p.view, source);
    } else {
      const Selection s = select(p);
      const Tensor fitted =
          broadcast_to(to_device(astype(source, t.dtype()), t.device()), s.result_shape);
      const Tensor front = contiguous(to_front(fitted, s));
      if (front.numel() > 0) {
        scatter_rows_kernel.on(t.device().type)(rows_args(s, front, s.rows), t.dtype());
      }
      t.storage()->bump_version();
    }
  }
  if (records) {
    record_inplace("setitem", {t, value}, t,
           [indices, shape = value.shape(), dtype = value.dtype(),
            device = value.device()](Backward& bw) {
             const Tensor g = bw.grad();
             if (bw.wants(1)) {
               const Tensor part = astype(unbroadcast(index(g, indices), shape), dtype);
               bw.set(1, to_device(part, device));
             }
             if (bw.wants(0)) {
               Tensor rest = clone(g);
               set_index(rest, indices, scalar(0, g.dtype()));
               bw.set(0, rest);
             }
           });
  }
}

Tensor take(const Tensor& t, const Tensor& indices, int64_t axis) {
  const int a = normalize_axis("take", axis, t.ndim());
  check<TypeError>(is_integral(indices.dtype()), "take: indices must be integers, got ",
                   dtype_name(indices.dtype()));
  std::vector<Index> all(static_cast<size_t>(a));
  for (int d = 0; d < a; ++d) all[d] = {Index::Kind::kSlice, 0, t.shape()[d], 1, {}};
  all.push_back({Index::Kind::kTensor, 0, 0, 1, indices});
  return index(t, all);
}

std::vector<Tensor> nonzero(const Tensor& t) {
  if (t.device().type != DeviceType::kCPU) {  // how many there are decides the results' shape
    std::vector<Tensor> out;
    for (const Tensor& places : nonzero(to_host(detach(t)))) {
      out.push_back(to_device(places, t.device()));
    }
    return out;
  }
  const Tensor mask = contiguous(is_bool(t.dtype()) ? detach(t) : not_equal(detach(t), scalar(0, t.dtype())));
  const bool* values = mask.data<bool>();
  const int64_t n = mask.numel(), blocks = (n + kMaskBlock - 1) / kMaskBlock;
  // Where each block's places begin: counted first, so that blocks can be written side by side.
  const Tensor starts = zeros({blocks + 1}, DType::kI64);
  int64_t* const start = starts.data<int64_t>();
  parallel_for(0, blocks, kIndexGrain / kMaskBlock, [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) {
      const int64_t end = std::min(n, (b + 1) * kMaskBlock);
      start[b + 1] = std::count(values + b * kMaskBlock, values + end, true);
    }
  });
  std::partial_sum(start, start + blocks + 1, start);
  std::vector<Tensor> out;
  for (int d = 0; d < t.ndim(); ++d) out.push_back(empty({start[blocks]}, DType::kI64));
  if (out.empty()) return out;
  parallel_for(0, blocks, kIndexGrain / kMaskBlock, [&](int64_t first, int64_t last) {
    int64_t places[kMaskBlock + 1];
    for (int64_t b = first; b < last; ++b) {
      const int64_t end = std::min(n, (b + 1) * kMaskBlock);
      int64_t found = 0;
      for (int64_t i = b * kMaskBlock; i < end; ++i) {  // no branch that a mask could mislead
        places[found] = i;
        found += values[i];
      }
      for (int64_t k = 0; k < found; ++k) {
        int64_t rest = places[k];
        for (int d = t.ndim() - 1; d > 0; --d) {
          out[d].data<int64_t>()[start[b] + k] = rest % t.shape()[d];
          rest /= t.shape()[d];
        }
        out[0].data<int64_t>()[start[b] + k] = rest;
      }
    }
  });
  return out;
}

}  // namespace zoo
