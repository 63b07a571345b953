#include "kernels/reduce.h"

namespace zoo {

constinit ReduceKernel sum_kernel("sum");
constinit ReduceKernel prod_kernel("prod");
constinit ReduceKernel max_kernel("max");
constinit ReduceKernel min_kernel("min");
constinit ReduceKernel any_kernel("any");
constinit ReduceKernel all_kernel("all");
constinit ReduceKernel argmax_kernel("argmax");
constinit ReduceKernel argmin_kernel("argmin");

}  // namespace zoo
