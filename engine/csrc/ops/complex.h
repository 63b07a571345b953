// Complex numbers lie in memory as pairs of real ones. Moving them is the kernels' work, which only
// knows bytes; sums and parts go through views of the real numbers; everything else is computed by
// numpy, which the bindings install here, so that no kernel is compiled for them.
//
// Gradients follow PyTorch's convention: of a real loss L they are dL/dRe + i dL/dIm, so a rule for
// real numbers holds for a holomorphic function when what it saved is conjugated.
#pragma once

#include <vector>

#include "core/tensor.h"

namespace zoo {

// The function that pointwise.def, or a reduction, calls `name`; records nothing.
using ComplexFallback = Tensor (*)(const char* name, const std::vector<Tensor>& inputs);
void set_complex_fallback(ComplexFallback fn);
Tensor compute_complex(const char* name, const std::vector<Tensor>& inputs);

// The real (0) or imaginary (1) numbers of a complex tensor, as a view that records nothing.
Tensor complex_part(const Tensor& t, int which);
// real + i imag, both of one shape and dtype.
Tensor join_parts(const Tensor& real, const Tensor& imag);
// For min, max and the like.
void check_ordered(const char* op, const Tensor& t);

}  // namespace zoo
