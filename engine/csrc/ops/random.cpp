// Random tensors.
#include "kernels/random.h"

#include <algorithm>
#include <cmath>

#include "core/parallel.h"
#include "ops/fused.h"
#include "ops/ops.h"

namespace zoo {
namespace {

// Into the elements of t, which lie side by side.
void draw(const Tensor& t, const RandomFill& fill, Generator& generator) {
  const RandomStream stream = generator.reserve(counters_for(t.dtype(), t.numel()));
  random_fill_kernel.on(t.device().type)(t.dtype(), stream, fill, t.data(), t.numel());
}

Tensor filled(const char* op, const Dims& shape, DType dtype, const RandomFill& fill,
              Generator& generator, Device device) {
  check<TypeError>(is_floating(dtype), op, ": expected a floating-point dtype, got ",
                   dtype_name(dtype));
  const DType wide = is_narrow(dtype) ? DType::kF32 : dtype;
  const Tensor t = empty(shape, wide, device);
  draw(t, fill, generator);
  return astype(t, dtype);
}

Tensor fill_in_place(const char* op, const Tensor& t, const RandomFill& fill,
                     Generator& generator) {
  check_floating(op, t);
  check_inplace(op, t, false);
  if (t.is_contiguous() && !is_narrow(t.dtype())) {
    draw(t, fill, generator);
    t.storage()->bump_version();
  } else {
    GradMode off(false);
    copy_(t, filled(op, t.shape(), t.dtype(), fill, generator, t.device()));
  }
  forget_history(op, t);
  return t;
}

// 64 random bits: number i of a stream.
uint64_t bits64(RandomStream s, uint64_t i) {
  const uint64_t at = s.offset + i / 2;
  uint32_t c0[1] = {static_cast<uint32_t>(at)}, c1[1] = {static_cast<uint32_t>(at >> 32)};
  uint32_t c2[1] = {0}, c3[1] = {0};
  philox(c0, c1, c2, c3, s.seed);
  return i % 2 == 0 ? uint64_t{c0[0]} << 32 | c1[0] : uint64_t{c2[0]} << 32 | c3[0];
}

// A number below `range` by multiplication (Lemire, 2019): no more than range / 2^64 off uniform.
uint64_t below(uint64_t range, uint64_t bits) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(bits) * range >> 64);
}

}  // namespace

Tensor rand(const Dims& shape, DType dtype, Generator& generator, Device device) {
  // Rounding 24 bits to a 16-bit float could give 1.
  Tensor t = filled("rand", shape, dtype, {}, generator, device);
  return is_narrow(dtype) ? where(less(t, scalar(1, dtype)), t, zeros_like(t)) : t;
}

Tensor randn(const Dims& shape, DType dtype, Generator& generator, Device device) {
  return filled("randn", shape, dtype, {Distribution::kNormal, 0, 1}, generator, device);
}

Tensor randint(int64_t low, int64_t high, const Dims& shape, DType dtype, Generator& generator) {
  check<TypeError>(is_integral(dtype), "randint: expected an integer dtype, got ",
                   dtype_name(dtype));
  check(low < high, "randint: low ", low, " must be below high ", high,
        ", which is not itself drawn");
  const Tensor t = empty(shape, DType::kI64);
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const int64_t n = t.numel();
  const RandomStream stream = generator.reserve(static_cast<uint64_t>(n + 1) / 2);
  int64_t* out = t.data<int64_t>();
  parallel_for(0, n, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t draw = below(range, bits64(stream, static_cast<uint64_t>(i)));
      out[i] = static_cast<int64_t>(static_cast<uint64_t>(low) + draw);
    }
  });
  return astype(t, dtype);
}

Tensor randperm(int64_t n, Generator& generator) {
  check(n >= 0, "randperm: expected at least 0 elements, got ", n);
  const Tensor t = empty({n}, DType::kI64);
  int64_t* out = t.data<int64_t>();
  for (int64_t i = 0; i < n; ++i) out[i] = i;
  const RandomStream stream = generator.reserve(static_cast<uint64_t>(n + 1) / 2);
  for (int64_t i = n - 1; i > 0; --i) {  // Fisher and Yates
    const uint64_t j =
        below(static_cast<uint64_t>(i) + 1, bits64(stream, static_cast<uint64_t>(i)));
    std::swap(out[i], out[j]);
  }
  return t;
}

Tensor bernoulli(const Tensor& p, Generator& generator) {
  check_floating("bernoulli", p);
  GradMode off(false);
  const DType dtype = is_narrow(p.dtype()) ? DType::kF32 : p.dtype();
  const Tensor wide = to_host(contiguous(astype(p, DType::kF64)));
  const double* values = wide.data<double>();
  for (int64_t i = 0; i < wide.numel(); ++i) {
    check(values[i] >= 0 && values[i] <= 1, "bernoulli: probability ", values[i], " at position ",
          i, " (in reading order) is not between 0 and 1");
  }
  return astype(less(rand(p.shape(), dtype, generator, p.device()), astype(p, dtype)), p.dtype());
}

Tensor uniform_(const Tensor& t, double low, double high, Generator& generator) {
  check(low <= high && std::isfinite(high - low), "uniform_: low ", low, " and high ", high,
        " are no interval");
  return fill_in_place("uniform_", t, {Distribution::kUniform, low, high}, generator);
}

Tensor normal_(const Tensor& t, double mean, double std, Generator& generator) {
  check(std >= 0, "normal_: standard deviation ", std, " must not be negative");
  return fill_in_place("normal_", t, {Distribution::kNormal, mean, std}, generator);
}

Tensor trunc_normal_(const Tensor& t, double mean, double std, double low, double high,
                     Generator& generator) {
  check(std > 0 && low < high, "trunc_normal_: expected std > 0 and low < high, got std ", std,
        ", low ", low, ", high ", high);
  // Numbers are drawn until they lie inside, so the interval must hold a fair share of them.
  const auto below_of = [&](double v) {
    return 0.5 * std::erfc(-(v - mean) / (std * std::sqrt(2.0)));
  };
  const double share = below_of(high) - below_of(low);
  check(share > 0.01, "trunc_normal_: only ", share * 100, "% of a normal distribution of mean ",
        mean, " and deviation ", std, " lies in [", low, ", ", high,
        "]; use a wider interval, or uniform_");
  return fill_in_place("trunc_normal_", t, {Distribution::kNormal, mean, std, low, high, true},
                       generator);
}

}  // namespace zoo
