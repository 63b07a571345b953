// The innermost part of every matrix product and convolution: a tile of C that lives in registers
// (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008; Van Zee and
// van de Geijn, "BLIS", 2015).
#include "kernels/cpu/gemm_block.h"
#include "kernels/cpu/simd.h"

namespace zoo {
namespace {

// Adds what Output asks for to a tile of whole vectors and stores it.
template <class T, int kR, int kVectors>
ZOO_INLINE void finish_tile(Vector<T> (&acc)[kR][kVectors], const Output<T>& out,
                            const int64_t* offsets, int64_t column) {
  using V = Vector<T>;
  constexpr int64_t kL = kLanes<T>;
  const auto each = [&](auto body) ZOO_ALWAYS {
    unrolled<kR>([&](auto r) ZOO_ALWAYS {
      unrolled<kVectors>([&](auto v) ZOO_ALWAYS {
        body(acc[r][v], offsets[r] + column + v * kL, v);
      });
    });
  };
  if (out.accumulate) {
    each([&](V& x, int64_t at, int) ZOO_ALWAYS { x += load<V>(out.c + at); });
  }
  if (out.bias != nullptr) {
    V bias[kVectors];
    unrolled<kVectors>([&](auto v) ZOO_ALWAYS { bias[v] = load<V>(out.bias + column + v * kL); });
    each([&](V& x, int64_t, auto v) ZOO_ALWAYS { x += bias[v]; });
  }
  if (out.residual != nullptr) {
    each([&](V& x, int64_t at, int) ZOO_ALWAYS { x += load<V>(out.residual + at); });
  }
  if (out.relu) {  // written so that a NaN stays one
    each([&](V& x, int64_t, int) ZOO_ALWAYS { x = x < V{} ? V{} : x; });
  }
  each([&](V& x, int64_t at, int) ZOO_ALWAYS { store(out.c + at, x); });
}

// The same, one number at a time, for a tile at the right edge of C that only has `columns`. It is
// handed over in memory: were it not, the compiler would keep every tile there.
template <class T>
[[gnu::noinline]] void finish_edge(const T* tile, int64_t rows, int64_t width,
                                   const Output<T>& out, const int64_t* offsets, int64_t column,
                                   int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t at = offsets[r] + column + j;
      T value = tile[r * width + j];
      if (out.accumulate) value += out.c[at];
      if (out.bias != nullptr) value += out.bias[column + j];
      if (out.residual != nullptr) value += out.residual[at];
      if (out.relu) value = value < T{0} ? T{0} : value;
      out.c[at] = value;
    }
  }
}

// C[offsets[r] + column ...] for kR rows and kVectors vectors of columns, of which `columns` exist.
template <class T, Order kOrder, int kR, int kVectors>
[[gnu::noinline]] void tile(int64_t depth, const T* a, int64_t a_stride, const T* b,
                            int64_t b_stride, const Output<T>& out, const int64_t* offsets,
                            int64_t column, int64_t columns) {
  using V = Vector<T>;
  constexpr int kL = kLanes<T>;
  constexpr int kWidth = kVectors * kL;
  // B is read ahead of its use by about the latency of the third-level cache.
  constexpr int kAhead = 16;
  V acc[kR][kVectors];
  unrolled<kR>([&](auto r) ZOO_ALWAYS {
    unrolled<kVectors>([&](auto v) ZOO_ALWAYS { acc[r][v] = V{}; });
    if constexpr (kR == kTileRows) {
      __builtin_prefetch(out.c + offsets[r] + column, 1);
      __builtin_prefetch(out.c + offsets[r] + column + kWidth - 1, 1);
    }
  });
  // Rows are reached from three pointers that are five rows apart, so that their addresses need
  // few registers; the empty asm keeps the compiler from deriving one pointer from another.
  const T* base0 = a;
  const T* base1 = a + 5 * a_stride;
  const T* base2 = a + 10 * a_stride;
  if constexpr (kOrder == Order::kRows && kR > 5) asm("" : "+r"(base1), "+r"(base2));
  for (int64_t p = 0; p < depth; ++p) {
    V bv[kVectors];
    unrolled<kVectors>([&](auto v) ZOO_ALWAYS {
      bv[v] = load<V>(b + v * kL);
      if constexpr (v * kVectorBytes % 64 == 0) __builtin_prefetch(b + kAhead * b_stride + v * kL);
    });
    unrolled<kR>([&](auto r) ZOO_ALWAYS {
      const T* base = r < 5 ? base0 : r < 10 ? base1 : base2;
      const T x = kOrder == Order::kRows ? base[(r % 5) * a_stride + p] : a[r];
      unrolled<kVectors>([&](auto v) ZOO_ALWAYS { acc[r][v] += bv[v] * x; });
    });
    b += b_stride;
    if constexpr (kOrder == Order::kColumns) a += a_stride;
  }
  if (columns >= kWidth) [[likely]] {
    finish_tile(acc, out, offsets, column);
  } else {
    T edge[kR * kWidth];
    unrolled<kR>([&](auto r) ZOO_ALWAYS {
      unrolled<kVectors>([&](auto v) ZOO_ALWAYS { store(edge + r * kWidth + v * kL, acc[r][v]); });
    });
    finish_edge(edge, kR, kWidth, out, offsets, column, columns);
  }
}

// All rows of a block times one panel of B.
template <class T, Order kOrder, int kVectors>
void multiply_panel(int64_t rows, int64_t depth, const LeftBlock<T>& a, const T* b,
                    int64_t b_stride, const Output<T>& out, const int64_t* offsets, int64_t column,
                    int64_t columns) {
  int64_t r = 0;
  const auto run = [&]<int kR>() {
    const int64_t first = r / kTileRows * kTileRows;
    const T* data = kOrder == Order::kRows ? a.data + r * a.stride
                                           : a.data + first * a.step + (r - first);
    tile<T, kOrder, kR, kVectors>(depth, data, a.stride, b, b_stride, out, offsets + r, column,
                                  columns);
    r += kR;
  };
  while (rows - r >= kTileRows) run.template operator()<kTileRows>();
  if constexpr (kTileRows > 8) {
    if (rows - r >= 8) run.template operator()<8>();
  }
  if (rows - r >= 4) run.template operator()<4>();
  if (rows - r >= 2) run.template operator()<2>();
  if (rows - r >= 1) run.template operator()<1>();
}

template <class T, Order kOrder>
void multiply_panels(const BlockProduct<T>& x, const Output<T>& out) {
  const T* b = x.b;
  for (int64_t column = x.column; column < x.end; column += kTileColumns<T>, b += x.panel) {
    const int64_t columns =
        x.end - column < kTileColumns<T> ? x.end - column : int64_t{kTileColumns<T>};
    if (columns > kLanes<T>) {
      multiply_panel<T, kOrder, 2>(x.rows, x.depth, x.a, b, x.b_stride, out, x.offsets, column,
                                   columns);
    } else {
      multiply_panel<T, kOrder, 1>(x.rows, x.depth, x.a, b, x.b_stride, out, x.offsets, column,
                                   columns);
    }
  }
}

template <class T>
void multiply_block_of(const BlockProduct<T>& x, const Output<T>& out) {
  if (x.order == Order::kRows) {
    multiply_panels<T, Order::kRows>(x, out);
  } else {
    multiply_panels<T, Order::kColumns>(x, out);
  }
}

}  // namespace

ZOO_REGISTER_CPU(multiply_block_f32_kernel, &multiply_block_of<float>);
ZOO_REGISTER_CPU(multiply_block_f64_kernel, &multiply_block_of<double>);

}  // namespace zoo
