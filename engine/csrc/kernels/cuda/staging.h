// Small arrays that an operation keeps in ordinary memory, beside tensors on the device: channel
// statistics, losses of rows, tables of windows. Kernels see copies of them.
#pragma once

#include "kernels/cuda/launch.h"

namespace zoo::cuda {

// A copy on the device of `n` numbers.
template <class T>
class Input {
 public:
  Input(const T* host, int64_t n) : memory_(bytes_of(n)) {
    if (n > 0) copy_to_device(memory_.template as<void>(), host, bytes_of(n));
  }
  const T* data() const { return memory_.template as<T>(); }

 private:
  static size_t bytes_of(int64_t n) { return static_cast<size_t>(n) * sizeof(T); }
  DeviceScratch memory_;
};

// `n` numbers on the device; finish() waits for them and puts them into `host`.
template <class T>
class Output {
 public:
  Output(T* host, int64_t n) : host_(host), bytes_(static_cast<size_t>(n) * sizeof(T)),
                               memory_(bytes_) {}
  T* data() const { return memory_.template as<T>(); }
  void finish() const {
    if (bytes_ > 0) copy_to_host(host_, memory_.template as<void>(), bytes_);
  }

 private:
  T* host_;
  size_t bytes_;
  DeviceScratch memory_;
};

}  // namespace zoo::cuda
