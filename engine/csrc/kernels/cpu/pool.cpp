// Pooling over NHWC, vectorised over channels. The gradients gather: each position adds up the
// windows it lies in, so no two threads write to one place and the order of sums is fixed.
#include "kernels/pool.h"

#include "core/parallel.h"
#include "kernels/cpu/row_vector.h"

namespace zoo {
namespace {

// Integers as wide as T, to go with comparisons of T; stored as 32 bits.
template <class V>
struct IndexOf {
  using type = decltype(V{} < V{});
};
template <>
struct IndexOf<float> {
  using type = int32_t;
};
template <>
struct IndexOf<double> {
  using type = int64_t;
};
template <class V>
using Index = typename IndexOf<V>::type;

ZOO_INLINE void store_index(int32_t* p, int32_t v) { *p = v; }
ZOO_INLINE void store_index(int32_t* p, int64_t v) { *p = static_cast<int32_t>(v); }
ZOO_INLINE void store_index(int32_t* p, Index<Vector<float>> v) { store(p, v); }
ZOO_INLINE void store_index(int32_t* p, Index<Vector<double>> v) {
  for (int i = 0; i < kLanes<double>; ++i) p[i] = static_cast<int32_t>(v[i]);
}
ZOO_INLINE int32_t load_index(Lane<float>, const int32_t* p) { return *p; }
ZOO_INLINE int64_t load_index(Lane<double>, const int32_t* p) { return *p; }
ZOO_INLINE Index<Vector<float>> load_index(Lane<Vector<float>>, const int32_t* p) {
  return load<Index<Vector<float>>>(p);
}
ZOO_INLINE Index<Vector<double>> load_index(Lane<Vector<double>>, const int32_t* p) {
  Index<Vector<double>> v;
  for (int i = 0; i < kLanes<double>; ++i) v[i] = p[i];
  return v;
}

// The largest of one window for U vectors of channels side by side.
template <class V, int U, class T>
ZOO_INLINE void max_window(const PoolShape& s, int64_t oh, int64_t ow, const T* picture, T* y,
                           int32_t* where) {
  constexpr int64_t kStep = sizeof(V) / sizeof(T);
  // The first tap decides from the start, so that windows of minus infinity have a place.
  const int64_t first = s.h.begin[oh] * s.w.in + s.w.begin[ow];
  V best[U];
  Index<V> place[U];
  for (int u = 0; u < U; ++u) {
    best[u] = load<V>(picture + first * s.c + u * kStep);
    place[u] = Index<V>{} + static_cast<int32_t>(first);
  }
  for (int64_t h = s.h.begin[oh]; h < s.h.end[oh]; h += s.h.step) {
    for (int64_t w = s.w.begin[ow]; w < s.w.end[ow]; w += s.w.step) {
      const int64_t at = h * s.w.in + w;
      const Index<V> here = Index<V>{} + static_cast<int32_t>(at);
      for (int u = 0; u < U; ++u) {
        const V v = load<V>(picture + at * s.c + u * kStep);
        const auto keep = (v <= best[u]) | (best[u] != best[u]);  // false for a first NaN
        best[u] = keep ? best[u] : v;
        place[u] = keep ? place[u] : here;
      }
    }
  }
  for (int u = 0; u < U; ++u) {
    store(y + u * kStep, best[u]);
    store_index(where + u * kStep, place[u]);
  }
}

template <class T>
void max_forward(const PoolShape& s, const T* x, T* y_all, int32_t* where_all) {
  const int64_t line = s.w.out * s.c;
  parallel_for(0, s.n * s.h.out, 16384 / (line + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t oh = r % s.h.out;
      const T* picture = x + r / s.h.out * s.h.in * s.w.in * s.c;
      for (int64_t ow = 0; ow < s.w.out; ++ow) {
        T* y = y_all + (r * s.w.out + ow) * s.c;
        int32_t* where = where_all + (r * s.w.out + ow) * s.c;
        int64_t c = 0;
        for (; c + 4 * kLanes<T> <= s.c; c += 4 * kLanes<T>) {
          max_window<Vector<T>, 4>(s, oh, ow, picture + c, y + c, where + c);
        }
        for (; c + kLanes<T> <= s.c; c += kLanes<T>) {
          max_window<Vector<T>, 1>(s, oh, ow, picture + c, y + c, where + c);
        }
        for (; c < s.c; ++c) max_window<T, 1>(s, oh, ow, picture + c, y + c, where + c);
      }
    }
  });
}

// The gradient of one position for U vectors of channels side by side.
template <class V, int U, class T>
ZOO_INLINE void max_gather(const PoolShape& s, int64_t ih, int64_t iw, const T* grad,
                           const int32_t* where, T* grad_x) {
  constexpr int64_t kStep = sizeof(V) / sizeof(T);
  const Index<V> here = Index<V>{} + static_cast<int32_t>(ih * s.w.in + iw);
  V sum[U] = {};
  for (int64_t oh = s.h.first[ih]; oh < s.h.last[ih]; ++oh) {
    for (int64_t ow = s.w.first[iw]; ow < s.w.last[iw]; ++ow) {
      const int64_t from = (oh * s.w.out + ow) * s.c;
      for (int u = 0; u < U; ++u) {
        const Index<V> place = load_index(Lane<V>{}, where + from + u * kStep);
        sum[u] += place == here ? load<V>(grad + from + u * kStep) : V{};
      }
    }
  }
  for (int u = 0; u < U; ++u) store(grad_x + u * kStep, sum[u]);
}

template <class T>
void max_backward(const PoolShape& s, const T* grad_all, const int32_t* where_all, T* grad_x) {
  const int64_t line = s.w.in * s.c;
  parallel_for(0, s.n * s.h.in, 16384 / (line + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t ih = r % s.h.in;
      const int64_t picture = r / s.h.in * s.h.out * s.w.out * s.c;
      const T* grad = grad_all + picture;
      const int32_t* where = where_all + picture;
      for (int64_t iw = 0; iw < s.w.in; ++iw) {
        T* out = grad_x + (r * s.w.in + iw) * s.c;
        int64_t c = 0;
        for (; c + 4 * kLanes<T> <= s.c; c += 4 * kLanes<T>) {
          max_gather<Vector<T>, 4>(s, ih, iw, grad + c, where + c, out + c);
        }
        for (; c + kLanes<T> <= s.c; c += kLanes<T>) {
          max_gather<Vector<T>, 1>(s, ih, iw, grad + c, where + c, out + c);
        }
        for (; c < s.c; ++c) max_gather<T, 1>(s, ih, iw, grad + c, where + c, out + c);
      }
    }
  });
}

// Channels summed together. Windows may be whole pictures, so sums of this many pixels of a line
// go to doubles.
constexpr int64_t kTile = 64;
constexpr int64_t kStretch = 32;

template <class T>
void avg_forward(const PoolShape& s, const T* x, T* y) {
  const int64_t tiles = (s.c + kTile - 1) / kTile;
  const int64_t pixels = s.h.out * s.w.out;
  const int64_t taps = s.h.in * s.w.in / (pixels + 1) + 1;
  parallel_for(0, s.n * pixels * tiles, 16384 / (taps * kTile) + 1,
               [&](int64_t begin, int64_t end) {
                 for (int64_t job = begin; job < end; ++job) {
                   const int64_t pixel = job / tiles, c0 = job % tiles * kTile;
                   const int64_t width = s.c - c0 < kTile ? s.c - c0 : kTile;
                   const int64_t oh = pixel % pixels / s.w.out, ow = pixel % s.w.out;
                   const T* picture = x + pixel / pixels * s.h.in * s.w.in * s.c + c0;
                   double total[kTile] = {};
                   for (int64_t h = s.h.begin[oh]; h < s.h.end[oh]; ++h) {
                     for (int64_t w0 = s.w.begin[ow]; w0 < s.w.end[ow]; w0 += kStretch) {
                       const int64_t w1 = s.w.end[ow] - w0 < kStretch ? s.w.end[ow] : w0 + kStretch;
                       along<T>(width, [&](auto lane, int64_t c) {
                         using V = typename decltype(lane)::type;
                         V sum{};
                         for (int64_t w = w0; w < w1; ++w) {
                           sum += load<V>(picture + (h * s.w.in + w) * s.c + c);
                         }
                         add_to(total + c, sum);
                       });
                     }
                   }
                   const double divisor = static_cast<double>(s.h.divisor[oh]) * s.w.divisor[ow];
                   T* out = y + pixel * s.c + c0;
                   for (int64_t c = 0; c < width; ++c) out[c] = static_cast<T>(total[c] / divisor);
                 }
               });
}

template <class T>
void avg_backward(const PoolShape& s, const T* grad, T* grad_x) {
  const int64_t line = s.w.in * s.c;
  parallel_for(0, s.n * s.h.in, 16384 / (line + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t ih = r % s.h.in;
      const T* picture = grad + r / s.h.in * s.h.out * s.w.out * s.c;
      for (int64_t iw = 0; iw < s.w.in; ++iw) {
        along<T>(s.c, [&](auto lane, int64_t c) {
          using V = typename decltype(lane)::type;
          V sum{};
          for (int64_t oh = s.h.first[ih]; oh < s.h.last[ih]; ++oh) {
            for (int64_t ow = s.w.first[iw]; ow < s.w.last[iw]; ++ow) {
              const T share = T(1) / (static_cast<T>(s.h.divisor[oh]) * s.w.divisor[ow]);
              sum += load<V>(picture + (oh * s.w.out + ow) * s.c + c) * share;
            }
          }
          store(grad_x + (r * s.w.in + iw) * s.c + c, sum);
        });
      }
    }
  });
}

void max_pool(DType dtype, const PoolShape& s, const void* x, void* y, int32_t* where) {
  const auto run = [&](auto t) {
    using T = decltype(t);
    max_forward(s, static_cast<const T*>(x), static_cast<T*>(y), where);
  };
  dtype == DType::kF64 ? run(double{}) : run(float{});
}

void max_pool_grad(DType dtype, const PoolShape& s, const void* grad, const int32_t* where,
                   void* grad_x) {
  const auto run = [&](auto t) {
    using T = decltype(t);
    max_backward(s, static_cast<const T*>(grad), where, static_cast<T*>(grad_x));
  };
  dtype == DType::kF64 ? run(double{}) : run(float{});
}

void avg_pool(DType dtype, const PoolShape& s, const void* x, void* y) {
  const auto run = [&](auto t) {
    using T = decltype(t);
    avg_forward(s, static_cast<const T*>(x), static_cast<T*>(y));
  };
  dtype == DType::kF64 ? run(double{}) : run(float{});
}

void avg_pool_grad(DType dtype, const PoolShape& s, const void* grad, void* grad_x) {
  const auto run = [&](auto t) {
    using T = decltype(t);
    avg_backward(s, static_cast<const T*>(grad), static_cast<T*>(grad_x));
  };
  dtype == DType::kF64 ? run(double{}) : run(float{});
}

}  // namespace

ZOO_REGISTER_CPU(max_pool_kernel, &max_pool);
ZOO_REGISTER_CPU(max_pool_grad_kernel, &max_pool_grad);
ZOO_REGISTER_CPU(avg_pool_kernel, &avg_pool);
ZOO_REGISTER_CPU(avg_pool_grad_kernel, &avg_pool_grad);

}  // namespace zoo
