#include "kernels/along.h"
#include "kernels/order.h"
#include "kernels/scan.h"

namespace zoo {

constinit Kernel<void(const SortArgs&, DType)> sort_kernel("sort");
constinit Kernel<void(const SearchArgs&, DType)> search_kernel("searchsorted");

constinit ScanKernel cumsum_kernel("cumsum");
constinit ScanKernel cumprod_kernel("cumprod");
constinit ScanKernel cummax_kernel("cummax");
constinit ScanKernel cummin_kernel("cummin");
constinit ScanKernel logcumsumexp_kernel("logcumsumexp");
constinit ScanKernel linear_scan_kernel("linear_scan");

constinit Kernel<void(const AlongArgs&, DType)> gather_kernel("gather");
constinit Kernel<void(const AlongArgs&, DType)> scatter_kernel("scatter");
constinit Kernel<void(const AlongArgs&, DType)> scatter_add_kernel("scatter_add");
constinit Kernel<void(const int64_t*, int64_t, int64_t*, int64_t)> bincount_kernel("bincount");

}  // namespace zoo
