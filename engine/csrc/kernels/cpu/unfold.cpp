// Windows of pictures as columns, and back.
#include "kernels/unfold.h"

#include <algorithm>

#include "core/parallel.h"

namespace zoo {
namespace {

// body(position in the plane, position in its columns) for each element of each window that lies
// inside the picture; outside(position in its columns) for the others.
template <class Inside, class Outside>
void walk_windows(const UnfoldShape& s, Inside inside, Outside outside) {
  int64_t at = 0;
  for (int64_t i = 0; i < s.kh; ++i) {
    for (int64_t j = 0; j < s.kw; ++j) {
      for (int64_t oy = 0; oy < s.oh; ++oy) {
        const int64_t y = oy * s.stride_h - s.pad_h + i * s.dilation_h;
        for (int64_t ox = 0; ox < s.ow; ++ox, ++at) {
          const int64_t x = ox * s.stride_w - s.pad_w + j * s.dilation_w;
          if (y >= 0 && y < s.h && x >= 0 && x < s.w) {
            inside(y * s.w + x, at);
          } else {
            outside(at);
          }
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
      walk_windows(
          s, [=](int64_t from, int64_t to) { out[to] = plane[from]; },
          [=](int64_t to) { out[to] = T(0); });
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
      std::fill(plane, plane + s.h * s.w, T(0));
      walk_windows(
          s, [=](int64_t to, int64_t from) { plane[to] += in[from]; }, [](int64_t) {});
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
