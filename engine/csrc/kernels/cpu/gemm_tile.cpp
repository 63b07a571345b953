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
  const auto by_column = [&](const T* numbers, auto combine) ZOO_ALWAYS {
    if (numbers == nullptr) return;
    V row[kVectors];
    unrolled<kVectors>([&](auto v) ZOO_ALWAYS { row[v] = load<V>(numbers + column + v * kL); });
    each([&](V& x, int64_t, auto v) ZOO_ALWAYS { combine(x, row[v]); });
  };
  by_column(out.scale, [](V& x, V scale) ZOO_ALWAYS { x *= scale; });
  by_column(out.bias, [](V& x, V bias) ZOO_ALWAYS { x += bias; });
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
      if (out.scale != nullptr) value *= out.scale[column + j];
      if (out.bias != nullptr) value += out.bias[column + j];
      if (out.residual != nullptr) value += out.residual[at];
      if (out.relu) value = value < T{0} ? T{0} : value;
      out.c[at] = value;
    }
  }
}

// C[offsets[r] + column ...] for kR rows and kVectors vectors of columns, of which `columns` exist.
template <class T, Order kOrder, int kR, int kVectors>
[[gnu::noinline]] void tile(int64_t depth, const LeftBlock<T>& left, const T* b, int64_t b_stride,
                            const Output<T>& out, const int64_t* offsets, int64_t column,
                            int64_t columns) {
  using V = Vector<T>;
  constexpr int kL = kLanes<T>;
  constexpr int kWidth = kVectors * kL;
  // B is read ahead of its use by about the latency of the third-level cache.
  constexpr int kAhead = 16;
  V acc[kR][kVectors];
  unrolled<kR>([&](auto r) ZOO_ALWAYS {
    unrolled<kVectors>([&](auto v) ZOO_ALWAYS { acc[r][v] = V{}; });
    if constexpr (kR >= kTileRows) {
      constexpr int kLine = 64 / static_cast<int>(sizeof(T));
      unrolled<(kWidth + kLine - 1) / kLine>([&](auto line) ZOO_ALWAYS {
        __builtin_prefetch(out.c + offsets[r] + column + line * kLine, 1);
      });
      __builtin_prefetch(out.c + offsets[r] + column + kWidth - 1, 1);
    }
  });
  // Pointers to every so many rows: the rows between are then reached with few registers for
  // multiples of the stride. The empty asm keeps the compiler from deriving one from another.
  constexpr int kEach = kOrder == Order::kRows ? 4 : kTileRows;
  const int64_t a_stride = left.stride;
  const int64_t apart = kOrder == Order::kRows ? kEach * a_stride : kTileRows * left.step;
  const T* a0 = left.data;
  const T* a1 = a0 + apart;
  const T* a2 = a1 + apart;
  if constexpr (kR > kEach) asm("" : "+r"(a1), "+r"(a2));
  for (int64_t p = 0; p < depth; ++p) {
    V bv[kVectors];
    unrolled<kVectors>([&](auto v) ZOO_ALWAYS {
      bv[v] = load<V>(b + v * kL);
      if constexpr (v * kVectorBytes % 64 == 0) __builtin_prefetch(b + kAhead * b_stride + v * kL);
    });
    unrolled<kR>([&](auto r) ZOO_ALWAYS {
      const T* base = r < kEach ? a0 : r < 2 * kEach ? a1 : a2;
      const T x = kOrder == Order::kRows ? base[r % kEach * a_stride] : base[r % kEach];
      unrolled<kVectors>([&](auto v) ZOO_ALWAYS { acc[r][v] += bv[v] * x; });
    });
    b += b_stride;
    const int64_t step = kOrder == Order::kRows ? 1 : a_stride;
    a0 += step;
    a1 += step;
    a2 += step;
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

// kR rows, which stay in the first-level cache, times every panel of B, which streams past them.
// A panel is taken in parts of kVectors.
template <class T, Order kOrder, int kR, int kVectors>
void multiply_rows(const BlockProduct<T>& x, int64_t r, const Output<T>& out) {
  constexpr int64_t kN = kTileColumns<T>, kWidth = kVectors * kLanes<T>;
  const int64_t first = r / kTileRows * kTileRows;
  const LeftBlock<T> rows = {
      x.a.data + (kOrder == Order::kRows ? r * x.a.stride : first * x.a.step + (r - first)),
      x.a.step, x.a.stride};
  int64_t column = x.column;
  const auto part = [&]<int kPart>() {
    const int64_t at = column - x.column;
    tile<T, kOrder, kR, kPart>(x.depth, rows, x.b + at / kN * x.panel + at % kN, x.b_stride, out,
                               x.offsets + r, column, x.end - column);
  };
  for (; x.end - column > kWidth - kLanes<T>; column += kWidth) {
    part.template operator()<kVectors>();
  }
  if (column >= x.end) return;
  if constexpr (kVectors > 2) {
    if (x.end - column > 2 * kLanes<T>) return part.template operator()<3>();
    if (x.end - column > kLanes<T>) return part.template operator()<2>();
  }
  if constexpr (kVectors > 1) part.template operator()<1>();
}

template <class T, Order kOrder>
void multiply_panels(const BlockProduct<T>& x, const Output<T>& out) {
  int64_t r = 0;
  const auto run = [&]<int kR, int kVectors>() {
    multiply_rows<T, kOrder, kR, kVectors>(x, r, out);
    r += kR;
  };
  // The first rows meet B while it comes from the third-level cache or from memory: a tall tile
  // asks for half as much of it in the same time. For few columns it has twice the accumulators.
  constexpr int kTall = 2 * kTileRows;
  const bool narrow = x.end - x.column <= kTileColumns<T> / 2;
  while (x.rows - r >= kTall && (r == 0 || narrow)) {
    run.template operator()<kTall, kTileVectors / 2>();
  }
  while (x.rows - r >= kTileRows) run.template operator()<kTileRows, kTileVectors>();
  if (x.rows - r >= 4) run.template operator()<4, kTileVectors>();
  if (x.rows - r >= 2) run.template operator()<2, kTileVectors>();
  if (x.rows - r >= 1) run.template operator()<1, kTileVectors>();
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
