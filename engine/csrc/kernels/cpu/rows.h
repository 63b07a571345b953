// Pointwise kernels as functions over contiguous rows. A row function is compiled once for the type
// it computes in; other layouts, broadcast operands and 16-bit types reach it through blocks in the
// first-level cache. Internal to the file that includes it.
#pragma once

#include "kernels/cpu/loop.h"
#include "kernels/cpu/pointwise_math.h"

namespace zoo {
namespace {

// out[i] from in[0][i], in[1][i], ... for i < n. `out` may be in[0]. p and q are the row's numbers.
template <class Out, class C>
using Row = void (*)(Out* out, const C* const* in, int64_t n, double p, double q);

// Elements that are converted or gathered at a time.
constexpr int64_t kRowBlock = 512;

template <class T, class C>
void load_block(C* to, const char* from, int64_t stride, int64_t n) {
  if (stride == sizeof(T)) {
    const T* x = reinterpret_cast<const T*>(from);
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<C>(x[i]);
    return;
  }
  if (stride == 0) {
    const C value = static_cast<C>(*reinterpret_cast<const T*>(from));
    for (int64_t i = 0; i < n; ++i) to[i] = value;
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    to[i] = static_cast<C>(*reinterpret_cast<const T*>(from + i * stride));
  }
}

template <class T, class C>
void store_block(char* to, int64_t stride, const C* from, int64_t n) {
  if (stride == sizeof(T)) {
    T* out = reinterpret_cast<T*>(to);
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(from[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(to + i * stride) = static_cast<T>(from[i]);
}

// Runs a row function over a plan of one result of type To and kInputs operands of type T.
template <class To, class T, int kInputs, class Out, class C>
void run_rows(const LoopPlan& plan, Row<Out, C> row, double p = 0, double q = 0) {
  constexpr bool kReadsInPlace = std::is_same_v<T, C>, kWritesInPlace = std::is_same_v<To, Out>;
  run_loop(plan, [=](char* const* data, const int64_t* strides, int64_t n) {
    const bool direct_out = kWritesInPlace && strides[0] == sizeof(To);
    bool direct[kInputs], all_direct = direct_out;
    for (int i = 0; i < kInputs; ++i) {
      direct[i] = kReadsInPlace && strides[i + 1] == sizeof(T);
      all_direct = all_direct && direct[i];
    }
    const C* in[kInputs];
    if (all_direct) {
      for (int i = 0; i < kInputs; ++i) in[i] = reinterpret_cast<const C*>(data[i + 1]);
      return row(reinterpret_cast<Out*>(data[0]), in, n, p, q);
    }
    C blocks[kInputs][kRowBlock];
    Out results[kRowBlock];
    for (int64_t at = 0; at < n; at += kRowBlock) {
      const int64_t count = std::min(kRowBlock, n - at);
      for (int i = 0; i < kInputs; ++i) {
        const char* from = data[i + 1] + at * strides[i + 1];
        in[i] = direct[i] ? reinterpret_cast<const C*>(from) : blocks[i];
        const bool there = direct[i] || (strides[i + 1] == 0 && at > 0);
        if (!there) load_block<T>(blocks[i], from, strides[i + 1], count);
      }
      char* const to = data[0] + at * strides[0];
      row(direct_out ? reinterpret_cast<Out*>(to) : results, in, count, p, q);
      if (!direct_out) store_block<To>(to, strides[0], results, count);
    }
  });
}

}  // namespace
}  // namespace zoo
