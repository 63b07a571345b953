// Tables of the kernels that serve language models: constant-initialised, so that registration in
// any order works.
#include "kernels/attention.h"
#include "kernels/head_loss.h"
#include "kernels/quantized.h"

namespace zoo {

constinit decltype(attention_kernel) attention_kernel("attention");
constinit decltype(attention_few_kernel) attention_few_kernel("attention");
constinit decltype(attention_grad_kernel) attention_grad_kernel("attention gradient");
constinit decltype(column_sums_kernel) column_sums_kernel("linear_cross_entropy");
constinit decltype(column_grads_kernel) column_grads_kernel("linear_cross_entropy gradient");
constinit decltype(quantized_product_kernel) quantized_product_kernel("quantized_linear");
constinit decltype(unpack_rows_kernel) unpack_rows_kernel("dequantize");

}  // namespace zoo
