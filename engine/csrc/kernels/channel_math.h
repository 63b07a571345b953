// Batch normalisation's arithmetic on the numbers of one channel, in double, for every device. T is
// what the numbers that meet pixels are kept in.
#pragma once

#include <cmath>

#include "core/host_device.h"
#include "kernels/norm.h"

namespace zoo {

// One number of an array that may be null.
template <class T>
ZOO_HOST_DEVICE inline double channel_number(const void* numbers, int64_t c, double otherwise) {
  return numbers != nullptr ? static_cast<double>(static_cast<const T*>(numbers)[c]) : otherwise;
}
template <class T>
ZOO_HOST_DEVICE inline T set_channel_number(void* numbers, int64_t c, double value) {
  const T rounded = static_cast<T>(value);
  if (numbers != nullptr) static_cast<T*>(numbers)[c] = rounded;
  return rounded;
}

template <class T>
ZOO_HOST_DEVICE inline void channel_forward(const ChannelForward& a, int64_t c) {
  const double mean = a.mean[c], variance = a.variance[c];
  const double inverse = 1.0 / std::sqrt(variance + a.eps);
  const double weight = channel_number<T>(a.weight, c, 1), bias = channel_number<T>(a.bias, c, 0);
  const T scale = set_channel_number<T>(a.scale, c, weight * inverse);
  // From the rounded scale: then x = mean gives the bias as exactly as can be.
  set_channel_number<T>(a.shift, c, bias - mean * static_cast<double>(scale));
  set_channel_number<T>(a.rounded_mean, c, mean);
  a.inverse_std[c] = inverse;
  const auto update = [&](void* running, double batch) {
    if (running == nullptr) return;
    const double before = channel_number<T>(running, c, 0);
    set_channel_number<T>(running, c, (1.0 - a.momentum) * before + a.momentum * batch);
  };
  update(a.running_mean, mean);
  update(a.running_var, variance * (a.count / (a.count - 1.0)));
}

// d mean / d x = 1 / count, d variance / d x = 2 (x - mean) / count.
template <class T>
ZOO_HOST_DEVICE inline void channel_backward(const ChannelBackward& a, int64_t c) {
  const double inverse = a.inverse_std[c], weight = channel_number<T>(a.weight, c, 1);
  const double by_mean = -weight * inverse * a.sum[c];
  const double by_variance = -0.5 * weight * inverse * inverse * inverse * a.sum_x[c];
  set_channel_number<T>(a.by_weight, c, a.sum_x[c] * inverse);
  set_channel_number<T>(a.by_bias, c, a.sum[c]);
  set_channel_number<T>(a.by_mean, c, by_mean);
  set_channel_number<T>(a.by_variance, c, by_variance);
  set_channel_number<T>(a.slope, c, 2.0 * by_variance / a.count);
  set_channel_number<T>(a.offset, c, by_mean / a.count);
}

}  // namespace zoo
