#include "core/backend.h"
#include "kernels/reduce.h"

namespace zoo {
namespace {

// Merges neighbouring axes (innermost first) that are one run of memory.
int merge(int n, int64_t* shape, int64_t* strides) {
  int last = -1;
  for (int i = 0; i < n; ++i) {
    if (shape[i] == 1) continue;
    if (last >= 0 && strides[i] == strides[last] * shape[last]) {
      shape[last] *= shape[i];
    } else {
      ++last;
      shape[last] = shape[i];
      strides[last] = strides[i];
    }
  }
  return last + 1;
}

}  // namespace

ReducePlan make_reduction(const Tensor& t, const bool* reduce) {
  ReducePlan p;
  use_device(t.device());
  p.in = t.data<char>();
  const int64_t size = itemsize(t.dtype());
  for (int i = t.ndim() - 1; i >= 0; --i) {  // innermost first
    const int64_t n = t.shape()[i], stride = t.strides()[i] * size;
    if (reduce[i]) {
      p.reduced_shape[p.reduced] = n;
      p.reduced_strides[p.reduced++] = stride;
      p.reduced_numel *= n;
    } else {
      p.kept_shape[p.kept] = n;
      p.kept_strides[p.kept++] = stride;
      p.kept_numel *= n;
    }
  }
  p.kept = merge(p.kept, p.kept_shape, p.kept_strides);
  // Logical order stays for argmax; axes of equal standing merge either way.
  p.reduced = merge(p.reduced, p.reduced_shape, p.reduced_strides);
  return p;
}

}  // namespace zoo
