// Gradient of the weight by Winograd's algorithm. The forward pass is y = A^T [(G g G^T) * (B^T d
// B)] A, linear in g; its transpose is dg = G^T [sum over tiles of (A dy A^T) * (B^T d B)] G. The
// sums are 36 matrix products over the tiles.
#include "core/allocator.h"
#include "core/parallel.h"
#include "kernels/cpu/winograd.h"
#include "kernels/cpu/winograd_tile.h"

namespace zoo {
namespace {

constexpr int64_t kL = kLanes<float>;
constexpr int64_t kN = kTileColumns<float>;

// `inputs` is [point][panel of c][tile][kN], `gradients` [point][tile][k], `sums` [point][k][c].
// The extra vectors keep strides away from powers of two, which share sets of the caches.
struct Layout {
  int64_t tiles;   // of a group, which is transformed and then multiplied
  int64_t groups;  // of a chunk
  int64_t chunks;  // each with its own sums
  int64_t input_panel, input_point;
  int64_t gradient_row, gradient_point;
  int64_t sum_row, sum_point;

  // All sizes depend on the shape alone, never on the number of threads: so does the order of the
  // summation. Where the sums are small, chunks of tiles are independent tasks whose groups stay
  // in the second-level cache. Where they are large there is one chunk, and threads share the 36
  // products of each group.
  Layout(const WinogradShape& s, int64_t total) {
    constexpr int64_t kSmallSums = int64_t{5} << 18;  // bytes
    constexpr int64_t kShared = int64_t{8} << 20;     // numbers of one group's transforms
    const bool small = kPoints * s.c * s.k <= kSmallSums / static_cast<int64_t>(sizeof(float));
    tiles = small ? smaller(total, 56)
                  : smaller(total, larger(kMaxDepth, kShared / (kPoints * (s.c + s.k))));
    const int64_t all = ceil_div(total, tiles);
    chunks = small ? smaller(all, 16) : 1;
    groups = ceil_div(all, chunks);
    chunks = ceil_div(all, groups);
    input_panel = tiles * kN;
    input_point = ceil_div(s.c, kN) * input_panel + kL;
    gradient_row = round_up(s.k, kL) + kL;
    gradient_point = tiles * gradient_row + kL;
    sum_row = round_up(s.c, kL);
    sum_point = s.k * sum_row + kL;
  }
};

// Transforms tiles tile + [first, last) of the input and of the output's gradient.
void transform_tiles(const WinogradShape& s, const Layout& layout, const float* x,
                     const float* grad_y, int64_t tile, int64_t first, int64_t last, float* inputs,
                     float* gradients) {
  const Tiling tiling(s.oh, s.ow);
  for (int64_t t = first; t < last; ++t) {
    const int64_t picture = (tile + t) / tiling.per_picture();
    const int64_t at = (tile + t) % tiling.per_picture();
    const int64_t row = at / tiling.across * kOut, column = at % tiling.across * kOut;
    WinogradV square[kPoints], result[kPoints];
    for (int64_t c = 0; c < s.c; c += kL) {
      read_square<kIn>(x + picture * s.h * s.w * s.c + c, s.h, s.w, s.c, row - s.pad_h,
                       column - s.pad_w, smaller(kL, s.c - c), square);
      transform_square<6, 6>(
          [](auto... args) ZOO_ALWAYS { transform_input(args...); }, square, result);
      float* to = inputs + c / kN * layout.input_panel + t * kN + c % kN;
      for (int p = 0; p < kPoints; ++p) store(to + p * layout.input_point, result[p]);
    }
    for (int64_t k = 0; k < s.k; k += kL) {
      read_square<kOut>(grad_y + picture * s.oh * s.ow * s.k + k, s.oh, s.ow, s.k, row, column,
                        smaller(kL, s.k - k), square);
      transform_square<4, 6>(
          [](auto... args) ZOO_ALWAYS { transform_gradient(args...); }, square, result);
      float* to = gradients + t * layout.gradient_row + k;
      for (int p = 0; p < kPoints; ++p) store(to + p * layout.gradient_point, result[p]);
    }
  }
}

// sums[point] (+)= gradients[point]^T inputs[point] over `tiles`, for rows [row, end) of k.
void multiply_point(const WinogradShape& s, const Layout& layout, const float* inputs,
                    const float* gradients, int64_t tiles, bool accumulate, int64_t point,
                    int64_t row, int64_t end, float* sums) {
  constexpr int64_t kMaxRows = kBlockRows;
  int64_t offsets[kMaxRows];
  Output<float> out;
  for (; row < end; row += kMaxRows) {
    const int64_t rows = smaller(kMaxRows, end - row);
    for (int64_t r = 0; r < rows; ++r) offsets[r] = r * layout.sum_row;
    out.c = sums + point * layout.sum_point + row * layout.sum_row;
    int64_t t = 0;
    do {  // once even if there are no tiles: the sums are 0 then
      out.accumulate = accumulate || t > 0;
      const float* a = gradients + point * layout.gradient_point + t * layout.gradient_row + row;
      multiply_block({Order::kColumns, rows, smaller(kMaxDepth, tiles - t),
                      {a, 1, layout.gradient_row}, inputs + point * layout.input_point + t * kN, kN,
                      layout.input_panel, offsets, 0, layout.sum_row},
                     out);
      t += kMaxDepth;
    } while (t < tiles);
  }
}

// grad_weight = G^T (the chunks' sums) G for windows [first, last) of k.
void transform_sums(const WinogradShape& s, const Layout& layout, const float* sums, int64_t first,
                    int64_t last, float* grad_weight) {
  for (int64_t k = first; k < last; ++k) {
    for (int64_t c = 0; c < s.c; c += kL) {
      WinogradV square[kPoints], result[9];
      const float* from = sums + k * layout.sum_row + c;
      for (int p = 0; p < kPoints; ++p) square[p] = load<WinogradV>(from + p * layout.sum_point);
      for (int64_t chunk = 1; chunk < layout.chunks; ++chunk) {
        from += kPoints * layout.sum_point;
        for (int p = 0; p < kPoints; ++p) {
          square[p] += load<WinogradV>(from + p * layout.sum_point);
        }
      }
      transform_square<6, 3>(
          [](auto... args) ZOO_ALWAYS { transform_window_gradient(args...); }, square, result);
      const int64_t lanes = smaller(kL, s.c - c);
      float* to = grad_weight + k * s.result + c * s.depth;
      for (int tap = 0; tap < 9; ++tap) {
        float* at = to + tap / 3 * s.row + tap % 3 * s.column;
        if (s.depth == 1) {
          store_first(at, result[tap], lanes);
        } else {
          for (int64_t i = 0; i < lanes; ++i) at[i * s.depth] = result[tap][i];
        }
      }
    }
  }
}

void winograd_grad_weight(const WinogradShape& s, const float* x, const float* grad_y,
                          float* grad_weight) {
  const int64_t total = s.n * Tiling(s.oh, s.ow).per_picture();
  const Layout layout(s, larger(1, total));
  const int64_t chunk_sums = kPoints * layout.sum_point;
  Scratch sum_space(static_cast<size_t>(layout.chunks * chunk_sums) * sizeof(float));
  float* const sums = sum_space.as<float>();

  const auto group = [&](int64_t tile, bool accumulate, float* inputs, float* gradients,
                         float* to) {
    const int64_t tiles = smaller(layout.tiles, total - tile);
    parallel_for(0, tiles, 4, [&](int64_t first, int64_t last) {
      transform_tiles(s, layout, x, grad_y, tile, first, last, inputs, gradients);
    });
    constexpr int64_t kRows = kBlockRows;
    const int64_t blocks = ceil_div(s.k, kRows);
    parallel_for(0, kPoints * blocks, 1, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t row = i % blocks * kRows;
        multiply_point(s, layout, inputs, gradients, tiles, accumulate, i / blocks, row,
                       smaller(s.k, row + kRows), to);
      }
    });
  };
  parallel_for(0, layout.chunks, 1, [&](int64_t first, int64_t last) {
    const size_t inputs = static_cast<size_t>(kPoints * layout.input_point);
    const size_t gradients = static_cast<size_t>(kPoints * layout.gradient_point);
    Scratch space((inputs + gradients) * sizeof(float));
    for (int64_t chunk = first; chunk < last; ++chunk) {
      for (int64_t g = 0; g < layout.groups; ++g) {
        const int64_t tile = (chunk * layout.groups + g) * layout.tiles;
        if (g > 0 && tile >= total) break;
        group(tile, g > 0, space.as<float>(), space.as<float>() + inputs,
              sums + chunk * chunk_sums);
      }
    }
  });
  parallel_for(0, s.k, larger(1, 512 / larger(1, s.c)), [&](int64_t first, int64_t last) {
    transform_sums(s, layout, sums, first, last, grad_weight);
  });
}

}  // namespace

ZOO_REGISTER_CPU(winograd_grad_weight_kernel, &winograd_grad_weight);

}  // namespace zoo
