// The dtypes whose elements have an order.
#pragma once

#include "core/dtype.h"
#include "kernels/cpu/domain.h"

namespace zoo {
namespace {

// Calls f with the C++ type of a bool, integer or real floating-point dtype.
template <class F>
ZOO_INLINE void visit_real(DType dtype, F f) {
  if (is_bool(dtype)) {
    f.template operator()<bool>();
  } else if (is_integral(dtype)) {
    visit_integers(dtype, f);
  } else {
    visit_floating(dtype, f);
  }
}

}  // namespace
}  // namespace zoo
