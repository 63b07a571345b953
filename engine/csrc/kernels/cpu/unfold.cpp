// Windows of pictures as columns, and back.
#include "kernels/unfold.h"

#include <algorithm>

#include "core/parallel.h"

namespace zoo {
namespace {

// row(first, n, at, before, after) for each row of each window position: n elements of the plane
// from `first` on, a stride apart, stand at `at` + before of the columns; the `before` columns ahead
// of them and the `after` behind lie outside the picture.
template <class Row>
void walk_rows(const UnfoldShape& s, Row row) {
  int64_t at = 0;
  for (int64_t i = 0; i < s.kh; ++i) {
    for (int64_t j = 0; j < s.kw; ++j) {
      const int64_t start = j * s.dilation_w - s.pad_w;  // column of the plane for ox = 0
      const int64_t begin = start >= 0 ? 0 : std::min(s.ow, (-start + s.stride_w - 1) / s.stride_w);
      const int64_t end =
          start >= s.w ? begin
                       : std::max(begin, std::min(s.ow, (s.w - 1 - start) / s.stride_w + 1));
      for (int64_t oy = 0; oy < s.oh; ++oy, at += s.ow) {
        const int64_t y = oy * s.stride_h - s.pad_h + i * s.dilation_h;
        if (y < 0 || y >= s.h) {
          row(0, 0, at, s.ow, 0);
        } else {
          row(y * s.w + start + begin * s.stride_w, end - begin, at, begin, s.ow - end);
        }
      }
    }
  }
}

template <class T>
void unfold_planes(const UnfoldShape& s, const T* x, T* columns) {
  const int64_t width = s.kh * s.kw * s.oh * s.ow;
  parallel_for(0, s.planes, 16384 / (width + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const T* plane = x + p * s.h * s.w;
      T* out = columns + p * width;
      walk_rows(s, [=](int64_t first, int64_t n, int64_t at, int64_t before, int64_t after) {
        T* to = std::fill_n(out + at, before, T(0));
        for (int64_t k = 0; k < n; ++k) to[k] = plane[first + k * s.stride_w];
        std::fill_n(to + n, after, T(0));
      });
    }
  });
}

template <class T>
void fold_planes(const UnfoldShape& s, const T* columns, T* x) {
  const int64_t width = s.kh * s.kw * s.oh * s.ow;
  parallel_for(0, s.planes, 16384 / (width + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      T* plane = x + p * s.h * s.w;
      const T* in = columns + p * width;
      std::fill_n(plane, s.h * s.w, T(0));
      walk_rows(s, [=](int64_t first, int64_t n, int64_t at, int64_t before, int64_t) {
        for (int64_t k = 0; k < n; ++k) plane[first + k * s.stride_w] += in[at + before + k];
      });
    }
  });
}

void unfold_cpu(DType dtype, const UnfoldShape& s, const void* x, void* columns) {
  if (dtype == DType::kF64) {
    unfold_planes(s, static_cast<const double*>(x), static_cast<double*>(columns));
  } else {
    unfold_planes(s, static_cast<const float*>(x), static_cast<float*>(columns));
  }
}

void fold_cpu(DType dtype, const UnfoldShape& s, const void* columns, void* x) {
  if (dtype == DType::kF64) {
    fold_planes(s, static_cast<const double*>(columns), static_cast<double*>(x));
  } else {
    fold_planes(s, static_cast<const float*>(columns), static_cast<float*>(x));
  }
}

}  // namespace

ZOO_REGISTER_CPU(unfold_kernel, &unfold_cpu);
ZOO_REGISTER_CPU(fold_kernel, &fold_cpu);

}  // namespace zoo
