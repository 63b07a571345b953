// Reductions. Sums run in double (or int64) whatever the input, so long ones do not saturate.
// Work is cut into blocks of fixed size and combined in order: the number of threads never shows
// in a result.
#include "kernels/reduce.h"

#include <algorithm>
#include <cstring>

#include "core/allocator.h"
#include "core/parallel.h"
#include "kernels/cpu/reduce_ops.h"

namespace zoo {
namespace {

constexpr int64_t kBlock = 32768;  // reduced elements per partial result
constexpr int64_t kTile = 512;     // neighbouring outputs reduced together, at most
constexpr int64_t kLanes = 32;     // independent accumulators of one run

// ---- walking ------------------------------------------------------------------------------------

ZOO_INLINE int64_t offset_of(int64_t i, int n, const int64_t* shape, const int64_t* strides) {
  int64_t offset = 0;
  for (int d = 0; d < n; ++d) {
    offset += (i % shape[d]) * strides[d];
    i /= shape[d];
  }
  return offset;
}

// body(pointer offset, length) for each innermost run of reduced elements [r0, r1).
template <class Body>
ZOO_INLINE void for_runs(const ReducePlan& p, int64_t r0, int64_t r1, Body body) {
  if (p.reduced == 0) return body(0, r1 - r0);
  const int64_t inner = p.reduced_shape[0];
  for (int64_t r = r0; r < r1;) {
    const int64_t n = std::min(inner - r % inner, r1 - r);
    body(offset_of(r, p.reduced, p.reduced_shape, p.reduced_strides), n);
    r += n;
  }
}

// Asks for what comes a page later: what the processor reads ahead by itself ends with the page.
template <class In>
ZOO_INLINE void read_ahead(const In* x) {
  constexpr int64_t kPage = 4096, kLine = 64;
  const char* at = reinterpret_cast<const char*>(x) + kPage;
  for (int64_t b = 0; b < kLanes * static_cast<int64_t>(sizeof(In)); b += kLine) {
    __builtin_prefetch(at + b);
  }
}

// The extreme of whole groups of kLanes numbers. NaN is looked for on the side: then the choice
// between two numbers is one instruction.
template <class Op>
ZOO_INLINE typename Op::Acc extreme_of_lanes(const typename Op::In* x, int64_t groups) {
  using Acc = typename Op::Acc;
  Acc lanes[kLanes];
  int32_t nan[kLanes] = {};
  for (int64_t k = 0; k < kLanes; ++k) lanes[k] = Op::identity();
  for (int64_t i = 0; i < groups; ++i, x += kLanes) {
    read_ahead(x);
    for (int64_t k = 0; k < kLanes; ++k) {
      const Acc value = Op::load(x[k]);
      lanes[k] = Op::better(value, lanes[k]) ? value : lanes[k];
      nan[k] |= value != value;
    }
  }
  Acc total = Op::identity();
  int32_t any = 0;
  for (int64_t k = 0; k < kLanes; ++k) {
    total = Op::combine(total, lanes[k]);
    any |= nan[k];
  }
  return any ? std::numeric_limits<Acc>::quiet_NaN() : total;
}

template <class Op>
constexpr bool kIsFloatExtreme =
    std::is_floating_point_v<typename Op::Acc> && requires { Op::better(0, 0); };

template <class Op>
ZOO_INLINE typename Op::Acc reduce_run(const char* data, int64_t stride, int64_t n) {
  using Acc = typename Op::Acc;
  using In = typename Op::In;
  Acc total = Op::identity();
  int64_t i = 0;
  if (Op::kLaned && stride == sizeof(In) && n >= 2 * kLanes) {
    const In* x = reinterpret_cast<const In*>(data);
    if constexpr (kIsFloatExtreme<Op>) {
      total = extreme_of_lanes<Op>(x, n / kLanes);
      i = n / kLanes * kLanes;
    } else {
      Acc lanes[kLanes];
      for (int64_t k = 0; k < kLanes; ++k) lanes[k] = Op::identity();
      for (; i + kLanes <= n; i += kLanes) {
        read_ahead(x + i);
        for (int64_t k = 0; k < kLanes; ++k) lanes[k] = Op::combine(lanes[k], Op::load(x[i + k]));
      }
      for (int64_t k = 0; k < kLanes; ++k) total = Op::combine(total, lanes[k]);
    }
  }
  for (; i < n; ++i) {
    total = Op::combine(total, Op::load(*reinterpret_cast<const In*>(data + i * stride)));
  }
  return total;
}

// Whether neighbouring outputs are neighbours in memory, and not the elements of one.
template <class In>
ZOO_INLINE bool is_across(const ReducePlan& p) {
  return p.kept > 0 && p.kept_strides[0] == sizeof(In) &&
         (p.reduced == 0 || p.reduced_strides[0] != sizeof(In));
}

// Partial results of outputs [k0, k1) over reduced elements [r0, r1), into acc.
template <class Op>
void reduce_block(const ReducePlan& p, int64_t k0, int64_t k1, int64_t r0, int64_t r1,
                  typename Op::Acc* acc) {
  using In = typename Op::In;
  if (!is_across<In>(p)) {
    const int64_t stride = p.reduced > 0 ? p.reduced_strides[0] : 0;
    for (int64_t k = k0; k < k1; ++k) {
      const char* base = p.in + offset_of(k, p.kept, p.kept_shape, p.kept_strides);
      auto total = Op::identity();
      for_runs(p, r0, r1, [&](int64_t offset, int64_t n) {
        total = Op::combine(total, reduce_run<Op>(base + offset, stride, n));
      });
      acc[k - k0] = total;
    }
    return;
  }
  // Rows of outputs at once.
  for (int64_t k = k0; k < k1;) {
    const int64_t width = std::min({kTile, k1 - k, p.kept_shape[0] - k % p.kept_shape[0]});
    const char* base = p.in + offset_of(k, p.kept, p.kept_shape, p.kept_strides);
    typename Op::Acc* row = acc + (k - k0);
    for (int64_t j = 0; j < width; ++j) row[j] = Op::identity();
    for_runs(p, r0, r1, [&](int64_t offset, int64_t n) {
      const int64_t stride = p.reduced > 0 ? p.reduced_strides[0] : 0;
      const auto line = [&](int64_t i) {
        return reinterpret_cast<const In*>(base + offset + i * stride);
      };
      int64_t i = 0;
      // Sums of four rows at once, so that the results are read and written less often; a choice
      // between numbers would not vectorise so.
      for (; Op::kSums && i + 4 <= n; i += 4) {
        const In *a = line(i), *b = line(i + 1), *c = line(i + 2), *d = line(i + 3);
        for (int64_t j = 0; j < width; ++j) {
          const auto upper = Op::combine(Op::load(a[j]), Op::load(b[j]));
          const auto lower = Op::combine(Op::load(c[j]), Op::load(d[j]));
          row[j] = Op::combine(row[j], Op::combine(upper, lower));
        }
      }
      for (; i < n; ++i) {
        const In* x = line(i);
        for (int64_t j = 0; j < width; ++j) row[j] = Op::combine(row[j], Op::load(x[j]));
      }
    });
    k += width;
  }
}

template <class Op>
void reduce_all(const ReducePlan& p, void* out_data) {
  using Acc = typename Op::Acc;
  auto* out = static_cast<typename Op::Out*>(out_data);
  if (p.kept_numel == 0) return;
  // Few outputs of many elements are split along the reduced axes; shapes alone decide.
  const int64_t blocks = p.kept_numel <= 4096 ? (p.reduced_numel + kBlock - 1) / kBlock : 1;
  if (blocks <= 1) {
    const int64_t grain = std::max<int64_t>(1, kBlock / std::max<int64_t>(1, p.reduced_numel));
    // Long rows of memory at once, but some tiles for every thread: no result depends on either.
    const bool across = is_across<typename Op::In>(p);
    const int64_t share = p.kept_numel / ((across ? 4 : 16) * num_threads());
    const int64_t tile =
        std::min(std::clamp<int64_t>(share, across ? 128 : 1, kTile), p.kept_numel);
    const int64_t tiles = (p.kept_numel + tile - 1) / tile;
    parallel_for(0, tiles, std::max<int64_t>(1, grain / tile), [&](int64_t b, int64_t e) {
      Acc acc[kTile];
      for (int64_t t = b; t < e; ++t) {
        const int64_t k0 = t * tile, k1 = std::min(p.kept_numel, k0 + tile);
        reduce_block<Op>(p, k0, k1, 0, p.reduced_numel, acc);
        for (int64_t k = k0; k < k1; ++k) out[k] = static_cast<typename Op::Out>(acc[k - k0]);
      }
    });
    return;
  }
  Scratch scratch(static_cast<size_t>(blocks * p.kept_numel) * sizeof(Acc));
  Acc* partial = scratch.as<Acc>();
  parallel_for(0, blocks, 1, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      reduce_block<Op>(p, 0, p.kept_numel, i * kBlock,
                       std::min(p.reduced_numel, (i + 1) * kBlock), partial + i * p.kept_numel);
    }
  });
  for (int64_t k = 0; k < p.kept_numel; ++k) {
    Acc total = Op::identity();
    for (int64_t b = 0; b < blocks; ++b) total = Op::combine(total, partial[b * p.kept_numel + k]);
    out[k] = static_cast<typename Op::Out>(total);
  }
}

template <template <class> class Op>
void reduce_cpu(const ReducePlan& p, DType dtype, void* out) {
  visit_dtype(dtype, [&]<class T>() { reduce_all<Op<T>>(p, out); });
}

// The first best element, or the first NaN, as numpy.
template <bool kMax>
void arg_reduce_cpu(const ReducePlan& p, DType dtype, void* out_data) {
  auto* out = static_cast<int64_t*>(out_data);
  visit_dtype(dtype, [&]<class T>() {
    using C = ComputeType<T>;
    const int64_t stride = p.reduced > 0 ? p.reduced_strides[0] : 0;
    const int64_t grain = std::max<int64_t>(1, kBlock / std::max<int64_t>(1, p.reduced_numel));
    parallel_for(0, p.kept_numel, grain, [&](int64_t b, int64_t e) {
      for (int64_t k = b; k < e; ++k) {
        const char* base = p.in + offset_of(k, p.kept, p.kept_shape, p.kept_strides);
        C best{};
        int64_t where_best = -1, position = 0;
        for_runs(p, 0, p.reduced_numel, [&](int64_t offset, int64_t n) {
          for (int64_t i = 0; i < n; ++i, ++position) {
            const C v = static_cast<C>(*reinterpret_cast<const T*>(base + offset + i * stride));
            const bool better = kMax ? v > best : v < best;
            if (where_best < 0 || (best == best && (better || v != v))) {
              best = v;
              where_best = position;
            }
          }
        });
        out[k] = where_best;
      }
    });
  });
}

}  // namespace

ZOO_REGISTER_CPU(sum_kernel, &reduce_cpu<SumOp>);
ZOO_REGISTER_CPU(prod_kernel, &reduce_cpu<ProdOp>);
ZOO_REGISTER_CPU(max_kernel, &reduce_cpu<MaxOp>);
ZOO_REGISTER_CPU(min_kernel, &reduce_cpu<MinOp>);
ZOO_REGISTER_CPU(any_kernel, &reduce_cpu<AnyOp>);
ZOO_REGISTER_CPU(all_kernel, &reduce_cpu<AllOp>);
ZOO_REGISTER_CPU(argmax_kernel, &arg_reduce_cpu<true>);
ZOO_REGISTER_CPU(argmin_kernel, &arg_reduce_cpu<false>);

}  // namespace zoo
