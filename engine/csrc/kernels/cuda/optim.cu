// Optimizer steps: every array is read and written once.
#include "kernels/optim.h"

#include <vector>

#include "kernels/cuda/staging.h"
#include "kernels/cuda/team.h"

namespace zoo {
namespace {

using cuda::kThreads;
// Tensors of one launch, and the elements of one that a block takes.
constexpr int kPieces = 48;
constexpr int64_t kBlockElements = 8 * kThreads;

// Fits what a launch may pass by value.
struct Pieces {
  OptimPiece piece[kPieces];
  int64_t first_block[kPieces + 1];
  int count = 0;
};

// The launches for all pieces, as few as can be: body(pieces, blocks).
template <class F>
void for_launches(const OptimPiece* pieces, int64_t count, F&& body) {
  int64_t next = 0;
  while (next < count) {
    Pieces p;
    p.first_block[0] = 0;
    while (next < count && p.count < kPieces) {
      const OptimPiece& piece = pieces[next++];
      if (piece.n == 0) continue;
      p.piece[p.count] = piece;
      const int64_t blocks = (piece.n + kBlockElements - 1) / kBlockElements;
      p.first_block[p.count + 1] = p.first_block[p.count] + blocks;
      ++p.count;
    }
    if (p.count > 0) body(p, dim3(static_cast<unsigned>(p.first_block[p.count])));
  }
}

// The part of a piece that this block takes.
struct Stretch {
  const OptimPiece* piece;
  int64_t begin, end;

  __device__ explicit Stretch(const Pieces& p) {
    int i = 0;
    while (static_cast<int64_t>(blockIdx.x) >= p.first_block[i + 1]) ++i;
    piece = &p.piece[i];
    begin = (static_cast<int64_t>(blockIdx.x) - p.first_block[i]) * kBlockElements;
    end = begin + kBlockElements < piece->n ? begin + kBlockElements : piece->n;
  }
};

template <class T>
__global__ void sgd_pieces(SgdRule rule, const __grid_constant__ Pieces pieces) {
  using C = ComputeType<T>;
  const Stretch s(pieces);
  const C lr = static_cast<C>(rule.lr), decay = static_cast<C>(rule.weight_decay);
  const C momentum = static_cast<C>(rule.momentum);
  const C fresh = rule.first ? C(1) : static_cast<C>(1.0 - rule.dampening);
  T* param = static_cast<T*>(s.piece->param);
  const T* grad = static_cast<const T*>(s.piece->grad);
  T* buffer = static_cast<T*>(s.piece->mean);
  for (int64_t i = s.begin + threadIdx.x; i < s.end; i += kThreads) {
    const C p = static_cast<C>(param[i]);
    C g = static_cast<C>(grad[i]) + decay * p;
    if (buffer != nullptr) {
      // What a buffer holds before the first step may be anything, so it is not read.
      const C b = momentum * (rule.first ? C(0) : static_cast<C>(buffer[i])) + fresh * g;
      buffer[i] = static_cast<T>(b);
      g = rule.nesterov ? g + momentum * b : b;
    }
    param[i] = static_cast<T>(p - lr * g);
  }
}

template <class T>
__global__ void adam_pieces(AdamRule rule, const __grid_constant__ Pieces pieces) {
  using C = ComputeType<T>;
  const Stretch s(pieces);
  const C beta1 = static_cast<C>(rule.beta1), beta2 = static_cast<C>(rule.beta2);
  const C rest1 = static_cast<C>(1.0 - rule.beta1), rest2 = static_cast<C>(1.0 - rule.beta2);
  const C coupled = rule.decoupled ? C(0) : static_cast<C>(rule.weight_decay);
  const C keep = rule.decoupled ? static_cast<C>(1.0 - rule.lr * rule.weight_decay) : C(1);
  const C step = static_cast<C>(rule.lr / rule.correction1);
  const C root = static_cast<C>(1.0 / sqrt(rule.correction2));
  const C eps = static_cast<C>(rule.eps);
  T* param = static_cast<T*>(s.piece->param);
  const T* grad = static_cast<const T*>(s.piece->grad);
  T* mean = static_cast<T*>(s.piece->mean);
  T* square = static_cast<T*>(s.piece->square);
  for (int64_t i = s.begin + threadIdx.x; i < s.end; i += kThreads) {
    const C p = static_cast<C>(param[i]);
    const C g = static_cast<C>(grad[i]) + coupled * p;
    const C m = beta1 * static_cast<C>(mean[i]) + rest1 * g;
    const C v = beta2 * static_cast<C>(square[i]) + rest2 * (g * g);
    mean[i] = static_cast<T>(m);
    square[i] = static_cast<T>(v);
    param[i] = static_cast<T>(p * keep - step * (m / (sqrt(v) * root + eps)));
  }
}

template <class T>
__global__ void scale_pieces(double factor, const __grid_constant__ Pieces pieces) {
  using C = ComputeType<T>;
  const Stretch s(pieces);
  T* x = static_cast<T*>(s.piece->param);
  for (int64_t i = s.begin + threadIdx.x; i < s.end; i += kThreads) {
    x[i] = static_cast<T>(static_cast<C>(x[i]) * static_cast<C>(factor));
  }
}

// In double from the first square on: 1e20 squared is past the range of float.
template <class T>
__global__ void square_pieces(const __grid_constant__ Pieces pieces, double* sums) {
  const Stretch s(pieces);
  const T* x = static_cast<const T*>(s.piece->param);
  double sum = 0;
  for (int64_t i = s.begin + threadIdx.x; i < s.end; i += kThreads) {
    const double v = static_cast<double>(static_cast<ComputeType<T>>(x[i]));
    sum += v * v;
  }
  sum = cuda::Team<kThreads>::sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

void sgd_all(DType dtype, const SgdRule& rule, const OptimPiece* pieces, int64_t count) {
  visit_floating(dtype, [&]<class T>() {
    for_launches(pieces, count, [&](const Pieces& p, dim3 blocks) {
      ZOO_LAUNCH((sgd_pieces<T>), blocks, dim3(kThreads), 0, rule, p);
    });
  });
}

void adam_all(DType dtype, const AdamRule& rule, const OptimPiece* pieces, int64_t count) {
  visit_floating(dtype, [&]<class T>() {
    for_launches(pieces, count, [&](const Pieces& p, dim3 blocks) {
      ZOO_LAUNCH((adam_pieces<T>), blocks, dim3(kThreads), 0, rule, p);
    });
  });
}

double sum_squares_all(DType dtype, const OptimPiece* pieces, int64_t count) {
  double total = 0;
  visit_floating(dtype, [&]<class T>() {
    for_launches(pieces, count, [&](const Pieces& p, dim3 blocks) {
      std::vector<double> sums(blocks.x);
      const cuda::Output<double> there(sums.data(), static_cast<int64_t>(sums.size()));
      ZOO_LAUNCH((square_pieces<T>), blocks, dim3(kThreads), 0, p, there.data());
      there.finish();
      for (double v : sums) total += v;
    });
  });
  return total;
}

void scale_all(DType dtype, double factor, const OptimPiece* pieces, int64_t count) {
  visit_floating(dtype, [&]<class T>() {
    for_launches(pieces, count, [&](const Pieces& p, dim3 blocks) {
      ZOO_LAUNCH((scale_pieces<T>), blocks, dim3(kThreads), 0, factor, p);
    });
  });
}

}  // namespace

ZOO_REGISTER_CUDA(sgd_kernel, &sgd_all);
ZOO_REGISTER_CUDA(adam_kernel, &adam_all);
ZOO_REGISTER_CUDA(sum_squares_kernel, &sum_squares_all);
ZOO_REGISTER_CUDA(scale_kernel, &scale_all);

}  // namespace zoo
