// Running sums and the like: each result combines the elements before it along one axis.
#pragma once

#include "core/dispatch.h"
#include "core/dtype.h"

namespace zoo {

// Contiguous operands seen as (outer, n, inner); the scan runs along the middle.
struct ScanArgs {
  const void* in = nullptr;
  const void* factor = nullptr;  // linear_scan only
  void* out = nullptr;
  int64_t* indices = nullptr;    // cummax and cummin only
  int64_t outer = 1, n = 0, inner = 1;
};
using ScanKernel = Kernel<void(const ScanArgs&, DType)>;
extern ScanKernel cumsum_kernel;        // accumulates in float64 or 64-bit integers
extern ScanKernel cumprod_kernel;       // likewise
extern ScanKernel cummax_kernel;        // of equal elements the last is named; NaN stays
extern ScanKernel cummin_kernel;
extern ScanKernel logcumsumexp_kernel;  // floating dtypes
extern ScanKernel linear_scan_kernel;   // out[i] = factor[i] * out[i - 1] + in[i]; floating dtypes

}  // namespace zoo
