// Gathering, scattering and adding rows.
#include "kernels/index.h"

#include "core/parallel.h"
#include "kernels/cpu/loop.h"

namespace zoo {
namespace {

// body(dense, indexed, dense_step, indexed_step, n) over the innermost axis of one row.
template <class Body>
[[gnu::always_inline]] inline void walk_row(const LoopPlan& row, char* dense, char* indexed,
                                            Body body) {
  int64_t index[kMaxDims] = {};
  const int64_t inner = row.shape[0];
  for (int64_t at = 0; at < row.numel; at += inner) {
    int64_t o0 = 0, o1 = 0;
    for (int d = 1; d < row.ndim; ++d) {
      o0 += index[d] * row.strides[0][d];
      o1 += index[d] * row.strides[1][d];
    }
    body(dense + o0, indexed + o1, row.strides[0][0], row.strides[1][0], inner);
    for (int d = 1; d < row.ndim; ++d) {
      if (++index[d] < row.shape[d]) break;
      index[d] = 0;
    }
  }
}

template <class Bits, bool kGather>
void move_rows(const RowsArgs& args) {
  const int64_t grain = kPointwiseGrain / std::max<int64_t>(1, args.row.numel) + 1;
  const auto run = [&](int64_t begin, int64_t end) {
    if (args.row.numel == 1) {  // single elements: nothing to walk
      for (int64_t i = begin; i < end; ++i) {
        Bits* d = reinterpret_cast<Bits*>(args.row.data[0] + i * args.dense_bytes);
        Bits* x = reinterpret_cast<Bits*>(args.row.data[1] + args.offsets[i]);
        if constexpr (kGather) {
          *d = *x;
        } else {
          *x = *d;
        }
      }
      return;
    }
    for (int64_t i = begin; i < end; ++i) {
      walk_row(args.row, args.row.data[0] + i * args.dense_bytes,
               args.row.data[1] + args.offsets[i],
               [](char* dense, char* indexed, int64_t s0, int64_t s1, int64_t n) {
                 for (int64_t k = 0; k < n; ++k) {
                   Bits* d = reinterpret_cast<Bits*>(dense + k * s0);
                   Bits* x = reinterpret_cast<Bits*>(indexed + k * s1);
                   if constexpr (kGather) {
                     *d = *x;
                   } else {
                     *x = *d;
                   }
                 }
               });
    }
  };
  if constexpr (kGather) {
    parallel_for(0, args.count, grain, run);
  } else {
    run(0, args.count);  // in order: of repeated indices the last one stays
  }
}

template <bool kGather>
void move_rows_cpu(const RowsArgs& args, DType dtype) {
  visit_bits(dtype, [&]<class Bits>() { move_rows<Bits, kGather>(args); });
}

void add_rows_cpu(const RowsArgs& args, DType dtype) {
  visit_floating(dtype, [&]<class T>() {
    using C = ComputeType<T>;
    for (int64_t i = 0; i < args.count; ++i) {
      walk_row(args.row, args.row.data[0] + i * args.dense_bytes,
               args.row.data[1] + args.offsets[i],
               [](char* dense, char* indexed, int64_t s0, int64_t s1, int64_t n) {
                 for (int64_t k = 0; k < n; ++k) {
                   T* x = reinterpret_cast<T*>(indexed + k * s1);
                   *x = static_cast<T>(static_cast<C>(*x) +
                                       static_cast<C>(*reinterpret_cast<T*>(dense + k * s0)));
                 }
               });
    }
  });
}

}  // namespace

ZOO_REGISTER_CPU(gather_rows_kernel, &move_rows_cpu<true>);
ZOO_REGISTER_CPU(scatter_rows_kernel, &move_rows_cpu<false>);
ZOO_REGISTER_CPU(add_rows_kernel, &add_rows_cpu);

}  // namespace zoo
