// Shapes and strides: up to kMaxDims numbers, stored in place. Only those in use are copied.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "core/errors.h"

namespace zoo {

inline constexpr int kMaxDims = 32;

class Dims {
 public:
  Dims() = default;
  Dims(const Dims& other) { *this = other; }
  Dims& operator=(const Dims& other) {
    size_ = other.size_;
    for (int i = 0; i < size_; ++i) values_[i] = other.values_[i];
    return *this;
  }
  Dims(std::initializer_list<int64_t> values) {
    for (int64_t v : values) push_back(v);
  }
  Dims(int n, int64_t value) {
    for (int i = 0; i < n; ++i) push_back(value);
  }
  template <class It>
    requires requires(It it) { *it; }
  Dims(It first, It last) {
    for (; first != last; ++first) push_back(*first);
  }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t& operator[](int i) { return values_[i]; }
  int64_t operator[](int i) const { return values_[i]; }
  int64_t& back() { return values_[size_ - 1]; }
  int64_t back() const { return values_[size_ - 1]; }
  int64_t* begin() { return values_; }
  int64_t* end() { return values_ + size_; }
  const int64_t* begin() const { return values_; }
  const int64_t* end() const { return values_ + size_; }

  void push_back(int64_t v) {
    check(size_ < kMaxDims, "tensors have at most ", kMaxDims, " dimensions");
    values_[size_++] = v;
  }
  void insert(int at, int64_t v) {
    check(size_ < kMaxDims, "tensors have at most ", kMaxDims, " dimensions");
    std::copy_backward(values_ + at, values_ + size_, values_ + size_ + 1);
    values_[at] = v;
    ++size_;
  }
  void erase(int at) {
    for (int i = at; i + 1 < size_; ++i) values_[i] = values_[i + 1];
    --size_;
  }
  int64_t product() const {
    int64_t p = 1;
    for (int64_t v : *this) p *= v;
    return p;
  }

  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.size_ != b.size_) return false;
    for (int i = 0; i < a.size_; ++i) {
      if (a.values_[i] != b.values_[i]) return false;
    }
    return true;
  }

 private:
  int size_ = 0;
  int64_t values_[kMaxDims];
};

// As Python prints a tuple: (2, 3), (4,), (). The text is made when a message needs it: checks are
// given one in every operation, and hardly any fails.
class DimsText {
 public:
  explicit DimsText(const Dims& dims) : dims_(dims) {}
  operator std::string() const;  // NOLINT: implicit, as it stands for the string
  friend std::ostream& operator<<(std::ostream& out, const DimsText& text);

 private:
  const Dims& dims_;
};
inline DimsText to_string(const Dims& dims) { return DimsText(dims); }

Dims contiguous_strides(const Dims& shape);
// Strides of the same memory order as `strides`, without gaps: how an output keeps the layout of
// its input (NHWC in, NHWC out).
Dims dense_strides_like(const Dims& shape, const Dims& strides);
// The common shape of operands under broadcasting; throws naming `op` and both shapes.
Dims broadcast_shapes(const char* op, const Dims& a, const Dims& b);
// Maps an axis in [-ndim, ndim) to [0, ndim); throws an IndexError that names `op`.
int normalize_axis(const char* op, int64_t axis, int ndim);

}  // namespace zoo
