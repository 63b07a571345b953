// Pooling over NHWC, one thread a number of the result. The gradients gather: each position adds up
// the windows it lies in, so no two threads write to one place and the order of sums is fixed.
#include "kernels/pool.h"

#include <vector>

#include "kernels/cuda/staging.h"
#include "kernels/cuda/team.h"

namespace zoo {
namespace {

using cuda::kThreads;

// The tables of windows of both axes, which go to the device together.
class Tables {
 public:
  explicit Tables(const PoolShape& s) : host_(packed(s)), there_(host_.data(), size(host_)) {}

  PoolShape on_device(const PoolShape& s) const {
    const int32_t* next = there_.data();
    const auto axis = [&](const PoolAxis& a) {
      const int32_t* const at = next;
      next += 3 * a.out + 2 * a.in;
      const int32_t* const by_position = at + 3 * a.out;
      return PoolAxis{a.in, a.out, a.step, at, at + a.out, at + 2 * a.out, by_position,
                      by_position + a.in};
    };
    PoolShape moved{s.n, s.c, {}, {}};
    moved.h = axis(s.h);
    moved.w = axis(s.w);
    return moved;
  }

 private:
  static int64_t size(const std::vector<int32_t>& v) { return static_cast<int64_t>(v.size()); }
  static std::vector<int32_t> packed(const PoolShape& s) {
    std::vector<int32_t> all;
    for (const PoolAxis* a : {&s.h, &s.w}) {
      for (const int32_t* by_window : {a->begin, a->end, a->divisor}) {
        all.insert(all.end(), by_window, by_window + a->out);
      }
      for (const int32_t* by_position : {a->first, a->last}) {
        all.insert(all.end(), by_position, by_position + a->in);
      }
    }
    return all;
  }

  std::vector<int32_t> host_;
  cuda::Input<int32_t> there_;
};

// Where element i of a dense NHWC picture of h x w pixels lies.
struct Place {
  int64_t n, row, column, channel;

  __device__ Place(int64_t i, int64_t channels, int64_t h, int64_t w) {
    channel = i % channels;
    const int64_t pixel = i / channels;
    column = pixel % w;
    row = pixel / w % h;
    n = pixel / w / h;
  }
};

#define ZOO_EACH_ELEMENT(i, total) \
  for (int64_t i = cuda::thread_index(); i < total; i += cuda::thread_count())

template <class T>
__global__ void largest_of_windows(PoolShape s, const T* x, T* y, int32_t* where) {
  ZOO_EACH_ELEMENT(i, s.n * s.h.out * s.w.out * s.c) {
    const Place p(i, s.c, s.h.out, s.w.out);
    const T* picture = x + p.n * s.h.in * s.w.in * s.c + p.channel;
    // The first tap decides from the start, so that windows of minus infinity have a place.
    int64_t place = s.h.begin[p.row] * s.w.in + s.w.begin[p.column];
    T best = picture[place * s.c];
    for (int64_t h = s.h.begin[p.row]; h < s.h.end[p.row]; h += s.h.step) {
      for (int64_t w = s.w.begin[p.column]; w < s.w.end[p.column]; w += s.w.step) {
        const T v = picture[(h * s.w.in + w) * s.c];
        if (v <= best || best != best) continue;  // false for a first NaN
        best = v;
        place = h * s.w.in + w;
      }
    }
    y[i] = best;
    where[i] = static_cast<int32_t>(place);
  }
}

template <class T>
__global__ void grad_of_largest(PoolShape s, const T* grad, const int32_t* where, T* grad_x) {
  ZOO_EACH_ELEMENT(i, s.n * s.h.in * s.w.in * s.c) {
    const Place p(i, s.c, s.h.in, s.w.in);
    const int64_t here = p.row * s.w.in + p.column;
    const int64_t picture = p.n * s.h.out * s.w.out * s.c + p.channel;
    T sum = 0;
    for (int64_t oh = s.h.first[p.row]; oh < s.h.last[p.row]; ++oh) {
      for (int64_t ow = s.w.first[p.column]; ow < s.w.last[p.column]; ++ow) {
        const int64_t from = picture + (oh * s.w.out + ow) * s.c;
        if (where[from] == here) sum += grad[from];
      }
    }
    grad_x[i] = sum;
  }
}

template <class T>
__global__ void mean_of_windows(PoolShape s, const T* x, T* y) {
  ZOO_EACH_ELEMENT(i, s.n * s.h.out * s.w.out * s.c) {
    const Place p(i, s.c, s.h.out, s.w.out);
    const T* picture = x + p.n * s.h.in * s.w.in * s.c + p.channel;
    double total = 0;  // windows may be whole pictures
    for (int64_t h = s.h.begin[p.row]; h < s.h.end[p.row]; ++h) {
      for (int64_t w = s.w.begin[p.column]; w < s.w.end[p.column]; ++w) {
        total += static_cast<double>(picture[(h * s.w.in + w) * s.c]);
      }
    }
    y[i] = static_cast<T>(total /
                          (static_cast<double>(s.h.divisor[p.row]) * s.w.divisor[p.column]));
  }
}

template <class T>
__global__ void grad_of_mean(PoolShape s, const T* grad, T* grad_x) {
  ZOO_EACH_ELEMENT(i, s.n * s.h.in * s.w.in * s.c) {
    const Place p(i, s.c, s.h.in, s.w.in);
    const T* picture = grad + p.n * s.h.out * s.w.out * s.c + p.channel;
    T sum = 0;
    for (int64_t oh = s.h.first[p.row]; oh < s.h.last[p.row]; ++oh) {
      for (int64_t ow = s.w.first[p.column]; ow < s.w.last[p.column]; ++ow) {
        const T share = T(1) / (static_cast<T>(s.h.divisor[oh]) * static_cast<T>(s.w.divisor[ow]));
        sum += picture[(oh * s.w.out + ow) * s.c] * share;
      }
    }
    grad_x[i] = sum;
  }
}

// Calls body(shape with tables on the device, blocks) unless there is nothing to compute.
template <class F>
void pooled(const PoolShape& s, int64_t total, F&& body) {
  if (total == 0) return;
  const Tables tables(s);
  body(tables.on_device(s), cuda::blocks_for(total));
}

int64_t inputs(const PoolShape& s) { return s.n * s.h.in * s.w.in * s.c; }
int64_t outputs(const PoolShape& s) { return s.n * s.h.out * s.w.out * s.c; }

void max_pool(DType dtype, const PoolShape& s, const void* x, void* y, int32_t* where) {
  pooled(s, outputs(s), [&](const PoolShape& there, unsigned blocks) {
    cuda::with_real(dtype, [&](auto t) {
      using T = decltype(t);
      ZOO_LAUNCH((largest_of_windows<T>), blocks, kThreads, 0, there,
                 static_cast<const T*>(x), static_cast<T*>(y), where);
    });
  });
}

void max_pool_grad(DType dtype, const PoolShape& s, const void* grad, const int32_t* where,
                   void* grad_x) {
  pooled(s, inputs(s), [&](const PoolShape& there, unsigned blocks) {
    cuda::with_real(dtype, [&](auto t) {
      using T = decltype(t);
      ZOO_LAUNCH((grad_of_largest<T>), blocks, kThreads, 0, there,
                 static_cast<const T*>(grad), where, static_cast<T*>(grad_x));
    });
  });
}

void avg_pool(DType dtype, const PoolShape& s, const void* x, void* y) {
  pooled(s, outputs(s), [&](const PoolShape& there, unsigned blocks) {
    cuda::with_real(dtype, [&](auto t) {
      using T = decltype(t);
      ZOO_LAUNCH((mean_of_windows<T>), blocks, kThreads, 0, there, static_cast<const T*>(x),
                 static_cast<T*>(y));
    });
  });
}

void avg_pool_grad(DType dtype, const PoolShape& s, const void* grad, void* grad_x) {
  pooled(s, inputs(s), [&](const PoolShape& there, unsigned blocks) {
    cuda::with_real(dtype, [&](auto t) {
      using T = decltype(t);
      ZOO_LAUNCH((grad_of_mean<T>), blocks, kThreads, 0, there, static_cast<const T*>(grad),
                 static_cast<T*>(grad_x));
    });
  });
}

}  // namespace

ZOO_REGISTER_CUDA(max_pool_kernel, &max_pool);
ZOO_REGISTER_CUDA(max_pool_grad_kernel, &max_pool_grad);
ZOO_REGISTER_CUDA(avg_pool_kernel, &avg_pool);
ZOO_REGISTER_CUDA(avg_pool_grad_kernel, &avg_pool_grad);

}  // namespace zoo
