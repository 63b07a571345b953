// Winograd convolution forward; with a rotated window also the gradient of the input.
#include "kernels/cpu/winograd.h"

#include "core/allocator.h"
#include "core/device.h"
#include "core/parallel.h"
#include "kernels/conv.h"
#include "kernels/cpu/gemm_pack.h"
#include "kernels/cpu/winograd_tile.h"

namespace zoo {
namespace {

constexpr int64_t kL = kLanes<float>;
constexpr int64_t kN = kTileColumns<float>;

// Sizes of the three transformed arrays. `inputs` is [point][tile][c], `windows` [point][panel of
// k][c][kN] and `outputs` [point][tile][k]. Rows are a vector longer than they need to be, and
// points another one apart: at powers of two they would fall into the same sets of the caches.
struct Layout {
  int64_t tiles;  // that are transformed together
  int64_t input_row, input_point;
  int64_t window_panel, window_point;
  int64_t output_row, output_point;

  Layout(const WinogradShape& s, int64_t tile_count) : tiles(tile_count) {
    input_row = round_up(s.c, kL) + kL;
    input_point = tiles * input_row + kL;
    window_panel = s.c * kN;
    window_point = ceil_div(s.k, kN) * window_panel;
    output_row = round_up(s.k, kL) + kL;
    output_point = tiles * output_row + kL;
  }
};

// windows[point] = (G g G^T)[point] for panels of kN results.
void transform_windows(const WinogradShape& s, const Layout& layout, const float* weight,
                       float* windows) {
  constexpr int64_t kDepth = 32;  // channels at a time: their taps stay in the first-level cache
  const int64_t panels = ceil_div(s.k, kN), steps = ceil_div(s.c, kDepth);
  parallel_for(0, panels * steps, 4, [&](int64_t first, int64_t last) {
    Scratch space(9 * kDepth * kN * sizeof(float));
    float* const taps = space.as<float>();
    for (int64_t task = first; task < last; ++task) {
      const int64_t k = task / steps * kN, c = task % steps * kDepth;
      const int64_t depth = smaller(kDepth, s.c - c), columns = smaller(kN, s.k - k);
      for (int64_t tap = 0; tap < 9; ++tap) {
        const float* from =
            weight + tap / 3 * s.row + tap % 3 * s.column + c * s.depth + k * s.result;
        pack_panel(taps + tap * kDepth * kN, from, s.depth, s.result, depth, columns);
      }
      float* to = windows + k / kN * layout.window_panel + c * kN;
      for (int64_t i = 0; i < depth * kN; i += kL) {
        if (i % kN >= columns) continue;
        WinogradV window[9], result[kPoints];
        for (int tap = 0; tap < 9; ++tap) {
          window[tap] = load<WinogradV>(taps + tap * kDepth * kN + i);
        }
        transform_square<3, 6>(
            [](auto... args) ZOO_ALWAYS { transform_window(args...); }, window, result);
        for (int p = 0; p < kPoints; ++p) store(to + p * layout.window_point + i, result[p]);
      }
    }
  });
}

// inputs[point][t] = (B^T d B)[point] of tiles tile + [first, last).
void transform_inputs(const WinogradShape& s, const Layout& layout, const float* x, int64_t tile,
                      int64_t first, int64_t last, float* inputs) {
  const Tiling tiling(s.oh, s.ow);
  for (int64_t t = first; t < last; ++t) {
    const int64_t picture = (tile + t) / tiling.per_picture();
    const int64_t at = (tile + t) % tiling.per_picture();
    const int64_t row = at / tiling.across * kOut - s.pad_h;
    const int64_t column = at % tiling.across * kOut - s.pad_w;
    for (int64_t c = 0; c < s.c; c += kL) {
      WinogradV square[kPoints], result[kPoints];
      read_square<kIn>(x + picture * s.h * s.w * s.c + c, s.h, s.w, s.c, row, column,
                       smaller(kL, s.c - c), square);
      transform_square<6, 6>(
          [](auto... args) ZOO_ALWAYS { transform_input(args...); }, square, result);
      float* to = inputs + t * layout.input_row + c;
      for (int p = 0; p < kPoints; ++p) store(to + p * layout.input_point, result[p]);
    }
  }
}

// y = A^T outputs A of tiles tile + [first, last), plus what the epilogue adds.
void transform_outputs(const WinogradShape& s, const Layout& layout, const float* outputs,
                       int64_t tile, int64_t first, int64_t last, const Conv2dEpilogue& epilogue,
                       float* y) {
  const Tiling tiling(s.oh, s.ow);
  const float* scale = static_cast<const float*>(epilogue.scale);
  const float* bias = static_cast<const float*>(epilogue.bias);
  const float* residual = static_cast<const float*>(epilogue.residual);
  for (int64_t t = first; t < last; ++t) {
    const int64_t picture = (tile + t) / tiling.per_picture();
    const int64_t at = (tile + t) % tiling.per_picture();
    const int64_t row = at / tiling.across * kOut, column = at % tiling.across * kOut;
    const int64_t rows = smaller(kOut, s.oh - row), columns = smaller(kOut, s.ow - column);
    const int64_t corner = ((picture * s.oh + row) * s.ow + column) * s.k;
    for (int64_t k = 0; k < s.k; k += kL) {
      WinogradV square[kPoints], result[kOut * kOut];
      const float* from = outputs + t * layout.output_row + k;
      for (int p = 0; p < kPoints; ++p) square[p] = load<WinogradV>(from + p * layout.output_point);
      transform_square<6, 4>(
          [](auto... args) ZOO_ALWAYS { transform_output(args...); }, square, result);
      const int64_t lanes = smaller(kL, s.k - k);
      const auto read = [&](const float* p) ZOO_ALWAYS {
        return lanes == kL ? load<WinogradV>(p) : load_first<WinogradV>(p, lanes);
      };
      const WinogradV factor = scale == nullptr ? WinogradV{} + 1.0f : read(scale + k);
      const WinogradV add = bias == nullptr ? WinogradV{} : read(bias + k);
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          const int64_t offset = corner + (i * s.ow + j) * s.k + k;
          WinogradV value = result[i * kOut + j] * factor + add;
          if (residual != nullptr) value += read(residual + offset);
          if (epilogue.relu) value = value < WinogradV{} ? WinogradV{} : value;
          if (lanes == kL) {
            store(y + offset, value);
          } else {
            store_first(y + offset, value, lanes);
          }
        }
      }
    }
  }
}

// outputs[point] = inputs[point] windows[point] for one point and rows [row, end) of tiles.
void multiply_point(const WinogradShape& s, const Layout& layout, const float* inputs,
                    const float* windows, int64_t point, int64_t row, int64_t end,
                    float* outputs) {
  constexpr int64_t kMaxRows = kBlockRows;
  int64_t offsets[kMaxRows];
  Output<float> out;
  for (; row < end; row += kMaxRows) {
    const int64_t rows = smaller(kMaxRows, end - row);
    for (int64_t r = 0; r < rows; ++r) offsets[r] = r * layout.output_row;
    out.c = outputs + point * layout.output_point + row * layout.output_row;
    for (int64_t c = 0; c < s.c; c += kMaxDepth) {
      out.accumulate = c > 0;
      const float* a = inputs + point * layout.input_point + row * layout.input_row + c;
      multiply_block({Order::kRows, rows, smaller(kMaxDepth, s.c - c),
                      {a, layout.input_row, layout.input_row},
                      windows + point * layout.window_point + c * kN, kN, layout.window_panel,
                      offsets, 0, round_up(s.k, kL)},
                     out);
    }
  }
}

void winograd_forward(const WinogradShape& s, const float* x, const float* weight,
                      const Conv2dEpilogue& epilogue, float* y) {
  const int64_t total = s.n * Tiling(s.oh, s.ow).per_picture();
  if (total == 0 || s.k == 0) return;
  // Groups of tiles whose transforms fit the second-level cache go to one thread each. Wide layers
  // have few tiles and large windows: there the threads share out the points of one group, so that
  // each point's windows are read once.
  const int64_t per_tile = kPoints * (s.c + s.k + 2 * kL) * static_cast<int64_t>(sizeof(float));
  const int64_t fit = l2_cache_bytes() * 3 / 4 / per_tile / kTileRows * kTileRows;
  const bool apart = fit >= 4 * kTileRows && total >= 4 * fit;
  const int64_t most = smaller(total, larger(256, (int64_t{24} << 20) / per_tile));
  const Layout layout(s, apart ? smaller(fit, kBlockRows) : most);
  const size_t window_bytes = static_cast<size_t>(kPoints * layout.window_point) * sizeof(float);
  Scratch window_space(s.windows != nullptr ? 0 : window_bytes);
  if (s.windows == nullptr) transform_windows(s, layout, weight, window_space.as<float>());
  const float* const windows = s.windows != nullptr ? s.windows : window_space.as<float>();

  const auto group = [&](int64_t tile, float* inputs, float* outputs) {
    const int64_t tiles = smaller(layout.tiles, total - tile);
    parallel_for(0, tiles, 4, [&](int64_t first, int64_t last) {
      transform_inputs(s, layout, x, tile, first, last, inputs);
    });
    constexpr int64_t kRows = kBlockRows;
    const int64_t blocks = ceil_div(tiles, kRows);
    parallel_for(0, kPoints * blocks, 1, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t row = i % blocks * kRows;
        multiply_point(s, layout, inputs, windows, i / blocks, row, smaller(tiles, row + kRows),
                       outputs);
      }
    });
    parallel_for(0, tiles, 4, [&](int64_t first, int64_t last) {
      transform_outputs(s, layout, outputs, tile, first, last, epilogue, y);
    });
  };
  parallel_for(0, ceil_div(total, layout.tiles), apart ? 1 : INT64_MAX,
               [&](int64_t first, int64_t last) {
    const size_t inputs = static_cast<size_t>(kPoints * layout.input_point);
    const size_t outputs = static_cast<size_t>(kPoints * layout.output_point);
    Scratch space((inputs + outputs) * sizeof(float));
    for (int64_t g = first; g < last; ++g) {
      group(g * layout.tiles, space.as<float>(), space.as<float>() + inputs);
    }
  });
}

int64_t winograd_windows(const WinogradShape& s, const float* weight, float* windows) {
  const Layout layout(s, 1);
  if (windows != nullptr) transform_windows(s, layout, weight, windows);
  return kPoints * layout.window_point;
}

}  // namespace

ZOO_REGISTER_CPU(winograd_forward_kernel, &winograd_forward);
ZOO_REGISTER_CPU(winograd_windows_kernel, &winograd_windows);

}  // namespace zoo
