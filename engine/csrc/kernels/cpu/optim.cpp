// Optimizer steps: every array is read and written once.
#include "kernels/optim.h"

#include "core/allocator.h"
#include "core/parallel.h"
#include "kernels/cpu/row_vector.h"

namespace zoo {
namespace {

template <class T>
void sgd(const SgdRule& rule, T* __restrict param, const T* __restrict grad, T* __restrict buffer,
         int64_t n) {
  using C = ComputeType<T>;
  const C lr = static_cast<C>(rule.lr), decay = static_cast<C>(rule.weight_decay);
  const C momentum = static_cast<C>(rule.momentum);
  if (buffer == nullptr) {
    for (int64_t i = 0; i < n; ++i) {
      const C p = static_cast<C>(param[i]);
      param[i] = static_cast<T>(p - lr * (static_cast<C>(grad[i]) + decay * p));
    }
    return;
  }
  // The first step starts the buffer from the gradient itself. What it holds may be anything, so
  // it is not read.
  const C fresh = rule.first ? C(1) : static_cast<C>(1.0 - rule.dampening);
  const auto step = [&](int64_t i, C old) {
    const C p = static_cast<C>(param[i]);
    const C g = static_cast<C>(grad[i]) + decay * p;
    const C b = momentum * old + fresh * g;
    buffer[i] = static_cast<T>(b);
    param[i] = static_cast<T>(p - lr * (rule.nesterov ? g + momentum * b : b));
  };
  if (rule.first) {
    for (int64_t i = 0; i < n; ++i) step(i, C(0));
  } else {
    for (int64_t i = 0; i < n; ++i) step(i, static_cast<C>(buffer[i]));
  }
}

template <class T>
void adam(const AdamRule& rule, T* __restrict param, const T* __restrict grad, T* __restrict mean,
          T* __restrict square, int64_t n) {
  using C = ComputeType<T>;
  const C beta1 = static_cast<C>(rule.beta1), beta2 = static_cast<C>(rule.beta2);
  const C rest1 = static_cast<C>(1.0 - rule.beta1), rest2 = static_cast<C>(1.0 - rule.beta2);
  const C coupled = rule.decoupled ? C(0) : static_cast<C>(rule.weight_decay);
  const C keep = rule.decoupled ? static_cast<C>(1.0 - rule.lr * rule.weight_decay) : C(1);
  const C step = static_cast<C>(rule.lr / rule.correction1);
  const C root = static_cast<C>(1.0 / std::sqrt(rule.correction2));
  const C eps = static_cast<C>(rule.eps);
  for (int64_t i = 0; i < n; ++i) {
    const C p = static_cast<C>(param[i]);
    const C g = static_cast<C>(grad[i]) + coupled * p;
    const C m = beta1 * static_cast<C>(mean[i]) + rest1 * g;
    const C v = beta2 * static_cast<C>(square[i]) + rest2 * (g * g);
    mean[i] = static_cast<T>(m);
    square[i] = static_cast<T>(v);
    const C denominator = (sizeof(C) == 4 ? static_cast<C>(__builtin_sqrtf(static_cast<float>(v)))
                                          : static_cast<C>(__builtin_sqrt(v))) *
                              root +
                          eps;
    param[i] = static_cast<T>(p * keep - step * (m / denominator));
  }
}

// ---- pieces in blocks, which are the units of work and of summation -----------------------------

constexpr int64_t kBlock = 16384;

int64_t blocks_of(const OptimPiece* pieces, int64_t count) {
  int64_t blocks = 0;
  for (int64_t i = 0; i < count; ++i) blocks += (pieces[i].n + kBlock - 1) / kBlock;
  return blocks;
}

// Calls body(piece of at most kBlock elements, its number) for every block of all pieces.
template <class T, class F>
void for_blocks(const OptimPiece* pieces, int64_t count, F&& body) {
  Scratch space(static_cast<size_t>(blocks_of(pieces, count)) * sizeof(OptimPiece));
  OptimPiece* const blocks = space.as<OptimPiece>();
  int64_t made = 0;
  for (const OptimPiece* p = pieces; p < pieces + count; ++p) {
    for (int64_t b = 0; b < p->n; b += kBlock) {
      const auto behind = [&](void* data) { return data ? static_cast<T*>(data) + b : nullptr; };
      blocks[made++] = {behind(p->param), behind(const_cast<void*>(p->grad)), behind(p->mean),
                        behind(p->square), p->n - b < kBlock ? p->n - b : kBlock};
    }
  }
  parallel_for(0, made, 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(blocks[i], i);
  });
}

void sgd_cpu(DType dtype, const SgdRule& rule, const OptimPiece* pieces, int64_t count) {
  visit_floating(dtype, [&]<class T>() {
    for_blocks<T>(pieces, count, [&](const OptimPiece& b, int64_t) {
      sgd(rule, static_cast<T*>(b.param), static_cast<const T*>(b.grad), static_cast<T*>(b.mean),
          b.n);
    });
  });
}

void adam_cpu(DType dtype, const AdamRule& rule, const OptimPiece* pieces, int64_t count) {
  visit_floating(dtype, [&]<class T>() {
    for_blocks<T>(pieces, count, [&](const OptimPiece& b, int64_t) {
      adam(rule, static_cast<T*>(b.param), static_cast<const T*>(b.grad), static_cast<T*>(b.mean),
           static_cast<T*>(b.square), b.n);
    });
  });
}

// In double from the first square on: 1e20 squared is past the range of float.
template <class T>
double squares_of(const T* from, int64_t n) {
  double lanes[16] = {};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    for (int k = 0; k < 16; ++k) {
      const double v = static_cast<double>(static_cast<ComputeType<T>>(from[i + k]));
      lanes[k] += v * v;
    }
  }
  for (int k = 0; i < n; ++i, ++k) {
    const double v = static_cast<double>(static_cast<ComputeType<T>>(from[i]));
    lanes[k] += v * v;
  }
  for (int step = 8; step > 0; step /= 2) {
    for (int k = 0; k < step; ++k) lanes[k] += lanes[k + step];
  }
  return lanes[0];
}

double sum_squares(DType dtype, const OptimPiece* pieces, int64_t count) {
  const int64_t blocks = blocks_of(pieces, count);
  Scratch space(static_cast<size_t>(blocks) * sizeof(double));
  double* const partial = space.as<double>();
  visit_floating(dtype, [&]<class T>() {
    for_blocks<T>(pieces, count, [&](const OptimPiece& b, int64_t i) {
      partial[i] = squares_of(static_cast<const T*>(b.param), b.n);
    });
  });
  double total = 0;
  for (int64_t i = 0; i < blocks; ++i) total += partial[i];
  return total;
}

void scale(DType dtype, double factor, const OptimPiece* pieces, int64_t count) {
  visit_floating(dtype, [&]<class T>() {
    using C = ComputeType<T>;
    for_blocks<T>(pieces, count, [&](const OptimPiece& b, int64_t) {
      T* p = static_cast<T*>(b.param);
      for (int64_t i = 0; i < b.n; ++i) {
        p[i] = static_cast<T>(static_cast<C>(p[i]) * static_cast<C>(factor));
      }
    });
  });
}

}  // namespace

ZOO_REGISTER_CPU(sgd_kernel, &sgd_cpu);
ZOO_REGISTER_CPU(adam_kernel, &adam_cpu);
ZOO_REGISTER_CPU(sum_squares_kernel, &sum_squares);
ZOO_REGISTER_CPU(scale_kernel, &scale);

}  // namespace zoo
