// Batch normalisation over rows x channels (NHWC): each pass reads memory once, in order. Bodies of
// parallel loops copy what their inner loops need into locals, since captured variables could, for
// all the compiler knows, change with every store.
#include "kernels/norm.h"

#include "core/allocator.h"
#include "core/parallel.h"
#include "kernels/channel_math.h"
#include "kernels/cpu/row_vector.h"

namespace zoo {
namespace {

// Rows that are summed in T before the sum is added to a double.
constexpr int kGroup = 8;
// Elements below which another thread costs more than it helps.
constexpr int64_t kGrain = 32768;

// Sums are split into blocks of rows that depend on the shape alone, so that results are the same
// for any number of threads: at most 128 of them, of at least 64 rows.
struct Blocks {
  int64_t rows_each, count, grain;
};

ZOO_INLINE Blocks split_rows(RowShape s) {
  int64_t each = (s.rows + 127) / 128;
  each = each < 64 ? 64 : (each + kGroup - 1) / kGroup * kGroup;
  const int64_t block = each * s.width;
  return {each, (s.rows + each - 1) / each, block >= kGrain ? 1 : kGrain / (block + 1) + 1};
}

// Calls body(row) for every row, the last stretches first: what the pass before read last is still
// in a cache, and what this pass writes last is where the next operation starts.
template <class F>
ZOO_INLINE void for_rows_from_the_end(RowShape s, F&& body) {
  parallel_for(0, s.rows, kGrain / (s.width + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = s.rows - end; row < s.rows - begin; ++row) body(row);
  });
}

// Adds the blocks' partial sums in order, into the first of them.
ZOO_INLINE void combine(double* partial, int64_t blocks, int64_t width) {
  for (int64_t b = 1; b < blocks; ++b) {
    const double* from = partial + b * width;
    along<double>(width, [&](auto lane, int64_t c) {
      using V = typename decltype(lane)::type;
      store(partial + c, load<V>(partial + c) + load<V>(from + c));
    });
  }
}

template <class T>
void stats(RowShape s, const T* x, double* mean, double* variance) {
  const Blocks blocks = split_rows(s);
  const int64_t width = s.width;
  Scratch scratch(static_cast<size_t>(blocks.count * 2 * width) * sizeof(double));
  double* partial = scratch.as<double>();
  parallel_for(0, blocks.count, blocks.grain, [&](int64_t begin, int64_t end) {
    // Distances are taken from the first row: the squares then lose nothing to a large mean.
    const T* const origin = x;
    const int64_t width = s.width;
    for (int64_t b = begin; b < end; ++b) {
      double* sum = partial + b * 2 * width;
      double* squares = sum + width;
      std::memset(sum, 0, static_cast<size_t>(2 * width) * sizeof(double));
      int64_t row = b * blocks.rows_each;
      const int64_t last = row + blocks.rows_each < s.rows ? row + blocks.rows_each : s.rows;
      auto add_rows = [&](auto count) {
        const T* from = x + row * width;
        along<T>(width, [&](auto lane, int64_t c) {
          using V = typename decltype(lane)::type;
          const V o = load<V>(origin + c);
          V s1{}, s2{};
          for (int k = 0; k < decltype(count)::value; ++k) {
            // Eight rows at once are more streams than processors prefetch well by themselves.
            __builtin_prefetch(from + (k + kGroup) * width + c);
            const V d = load<V>(from + k * width + c) - o;
            s1 += d;
            s2 += d * d;
          }
          add_to(sum + c, s1);
          add_to(squares + c, s2);
        });
        row += decltype(count)::value;
      };
      while (row + kGroup <= last) add_rows(std::integral_constant<int, kGroup>{});
      while (row < last) add_rows(std::integral_constant<int, 1>{});
    }
  });
  combine(partial, blocks.count, 2 * width);
  const double n = static_cast<double>(s.rows);
  for (int64_t c = 0; c < width; ++c) {
    const double m = partial[c] / n;
    const double v = partial[width + c] / n - m * m;
    mean[c] = m + static_cast<double>(x[c]);
    variance[c] = v < 0 ? 0 : v;  // NaN stays
  }
}

template <class T, bool kResidual, bool kRelu>
void affine(RowShape s, const ColumnAffine& a) {
  const int64_t width = s.width;
  const T* const x_all = static_cast<const T*>(a.x);
  const T* const residual_all = static_cast<const T*>(a.residual);
  const T* const scale = static_cast<const T*>(a.scale);
  const T* const shift = static_cast<const T*>(a.shift);
  T* const y_all = static_cast<T*>(a.y);
  for_rows_from_the_end(s, [&](int64_t row) {
    const T *row_scale = scale, *row_shift = shift;
    const T* x = x_all + row * width;
    const T* residual = residual_all + (kResidual ? row * width : 0);
    T* y = y_all + row * width;
    along<T>(width, [&](auto lane, int64_t c) {
      using V = typename decltype(lane)::type;
      V v = load<V>(x + c) * load<V>(row_scale + c) + load<V>(row_shift + c);
      if constexpr (kResidual) v += load<V>(residual + c);
      if constexpr (kRelu) v = v < V{} ? V{} : v;
      store(y + c, v);
    });
  });
}

// The gradient behind the ReLU.
template <class T, ReluMask kMask, class V>
ZOO_INLINE V masked_grad(const ColumnGrad& a, V g, V x, int64_t at, int64_t c) {
  if constexpr (kMask == ReluMask::kOutput) {
    g = load<V>(static_cast<const T*>(a.y) + at) > V{} ? g : V{};
  } else if constexpr (kMask == ReluMask::kRecomputed) {
    const V y = x * load<V>(static_cast<const T*>(a.scale) + c) +
                load<V>(static_cast<const T*>(a.shift) + c);
    g = y > V{} ? g : V{};
  }
  return g;
}

template <class T, ReluMask kMask, bool kKeep>
void grad_sums(RowShape s, const ColumnGrad& args, double* sum, double* sum_x, T* masked) {
  const Blocks blocks = split_rows(s);
  const int64_t width = s.width;
  Scratch scratch(static_cast<size_t>(blocks.count * 2 * width) * sizeof(double));
  double* partial = scratch.as<double>();
  parallel_for(0, blocks.count, blocks.grain, [&](int64_t begin, int64_t end) {
    const ColumnGrad a = args;
    const int64_t width = s.width;
    T* const kept = masked;
    for (int64_t b = begin; b < end; ++b) {
      double* s0 = partial + b * 2 * width;
      double* s1 = s0 + width;
      std::memset(s0, 0, static_cast<size_t>(2 * width) * sizeof(double));
      int64_t row = b * blocks.rows_each;
      const int64_t last = row + blocks.rows_each < s.rows ? row + blocks.rows_each : s.rows;
      auto add_rows = [&](auto count) {
        along<T>(width, [&](auto lane, int64_t c) {
          using V = typename decltype(lane)::type;
          const V mean = load<V>(static_cast<const T*>(a.mean) + c);
          V g_sum{}, gx_sum{};
          for (int k = 0; k < decltype(count)::value; ++k) {
            const int64_t at = (row + k) * width + c;
            const V x = load<V>(static_cast<const T*>(a.x) + at);
            const V g =
                masked_grad<T, kMask>(a, load<V>(static_cast<const T*>(a.grad) + at), x, at, c);
            if constexpr (kKeep) store(kept + at, g);
            g_sum += g;
            gx_sum += g * (x - mean);
          }
          add_to(s0 + c, g_sum);
          add_to(s1 + c, gx_sum);
        });
        row += decltype(count)::value;
      };
      while (row + kGroup <= last) add_rows(std::integral_constant<int, kGroup>{});
      while (row < last) add_rows(std::integral_constant<int, 1>{});
    }
  });
  combine(partial, blocks.count, 2 * width);
  std::memcpy(sum, partial, static_cast<size_t>(width) * sizeof(double));
  std::memcpy(sum_x, partial + width, static_cast<size_t>(width) * sizeof(double));
}

template <class T, ReluMask kMask, bool kStats>
void grad_input(RowShape s, const ColumnGrad& args, const T* a, const T* b, const T* c0,
                T* grad_x) {
  const int64_t width = s.width;
  for_rows_from_the_end(s, [&](int64_t row) {
    const ColumnGrad g = args;
    const T *by_grad = a, *by_x = b, *offset = c0;
    T* const out = grad_x;
    const int64_t first = row * width;
    along<T>(width, [&](auto lane, int64_t c) {
      using V = typename decltype(lane)::type;
      const int64_t at = first + c;
      V x{};
      if constexpr (kStats || kMask == ReluMask::kRecomputed) {
        x = load<V>(static_cast<const T*>(g.x) + at);
      }
      V v = masked_grad<T, kMask>(g, load<V>(static_cast<const T*>(g.grad) + at), x, at, c) *
            load<V>(by_grad + c);
      if constexpr (kStats) {
        v += load<V>(by_x + c) * (x - load<V>(static_cast<const T*>(g.mean) + c)) +
             load<V>(offset + c);
      }
      store(out + at, v);
    });
  });
}

// ---- table entries: choose the instance ---------------------------------------------------------

template <class F>
ZOO_INLINE void with_type(DType dtype, F&& body) {
  dtype == DType::kF64 ? body(double{}) : body(float{});
}

template <class F>
ZOO_INLINE void with_mask(ReluMask mask, F&& body) {
  switch (mask) {
    case ReluMask::kNone: return body(std::integral_constant<ReluMask, ReluMask::kNone>{});
    case ReluMask::kOutput: return body(std::integral_constant<ReluMask, ReluMask::kOutput>{});
    case ReluMask::kRecomputed:
      return body(std::integral_constant<ReluMask, ReluMask::kRecomputed>{});
  }
}

void column_stats(DType dtype, RowShape s, const void* x, double* mean, double* variance) {
  with_type(dtype, [&](auto t) { stats(s, static_cast<const decltype(t)*>(x), mean, variance); });
}

void column_affine(DType dtype, RowShape s, const ColumnAffine& a) {
  with_type(dtype, [&](auto t) {
    using T = decltype(t);
    if (a.residual != nullptr) {
      a.relu ? affine<T, true, true>(s, a) : affine<T, true, false>(s, a);
    } else {
      a.relu ? affine<T, false, true>(s, a) : affine<T, false, false>(s, a);
    }
  });
}

void column_grad_sums(DType dtype, RowShape s, const ColumnGrad& a, double* sum, double* sum_x,
                      void* masked) {
  with_type(dtype, [&](auto t) {
    using T = decltype(t);
    with_mask(a.mask, [&](auto mask) {
      T* out = static_cast<T*>(masked);
      if (out != nullptr) {
        grad_sums<T, decltype(mask)::value, true>(s, a, sum, sum_x, out);
      } else {
        grad_sums<T, decltype(mask)::value, false>(s, a, sum, sum_x, nullptr);
      }
    });
  });
}

void column_grad_input(DType dtype, RowShape s, const ColumnGrad& g, const void* a, const void* b,
                       const void* c, void* grad_x) {
  with_type(dtype, [&](auto t) {
    using T = decltype(t);
    with_mask(g.mask, [&](auto mask) {
      const T* pa = static_cast<const T*>(a);
      if (b != nullptr) {
        grad_input<T, decltype(mask)::value, true>(
            s, g, pa, static_cast<const T*>(b), static_cast<const T*>(c), static_cast<T*>(grad_x));
      } else {
        grad_input<T, decltype(mask)::value, false>(s, g, pa, nullptr, nullptr,
                                                    static_cast<T*>(grad_x));
      }
    });
  });
}

void channels_forward(DType dtype, const ChannelForward& a) {
  with_type(dtype, [&](auto t) {
    for (int64_t c = 0; c < a.channels; ++c) channel_forward<decltype(t)>(a, c);
  });
}

void channels_backward(DType dtype, const ChannelBackward& a) {
  with_type(dtype, [&](auto t) {
    for (int64_t c = 0; c < a.channels; ++c) channel_backward<decltype(t)>(a, c);
  });
}

}  // namespace

ZOO_REGISTER_CPU(column_stats_kernel, column_stats);
ZOO_REGISTER_CPU(column_affine_kernel, column_affine);
ZOO_REGISTER_CPU(column_grad_sums_kernel, column_grad_sums);
ZOO_REGISTER_CPU(column_grad_input_kernel, column_grad_input);
ZOO_REGISTER_CPU(channel_forward_kernel, channels_forward);
ZOO_REGISTER_CPU(channel_backward_kernel, channels_backward);

}  // namespace zoo
