#include "kernels/index.h"

namespace zoo {

constinit Kernel<void(const RowsArgs&, DType)> gather_rows_kernel("gather_rows");
constinit Kernel<void(const RowsArgs&, DType)> scatter_rows_kernel("scatter_rows");
constinit Kernel<void(const RowsArgs&, DType)> add_rows_kernel("add_rows");

}  // namespace zoo
