// Tables of the kernels that serve neural networks: constant-initialised, so that registration
// in any order works.
#include "kernels/embedding.h"
#include "kernels/image.h"
#include "kernels/loss.h"
#include "kernels/norm.h"
#include "kernels/optim.h"
#include "kernels/pool.h"
#include "kernels/random.h"
#include "kernels/softmax.h"
#include "kernels/unfold.h"

namespace zoo {

#define ZOO_TABLE(table, text) constinit decltype(table) table(text)

ZOO_TABLE(column_stats_kernel, "batch_norm statistics");
ZOO_TABLE(column_affine_kernel, "batch_norm");
ZOO_TABLE(column_grad_sums_kernel, "batch_norm gradient sums");
ZOO_TABLE(column_grad_input_kernel, "batch_norm gradient");
ZOO_TABLE(channel_forward_kernel, "batch_norm's numbers by channel");
ZOO_TABLE(channel_backward_kernel, "batch_norm's gradients by channel");
ZOO_TABLE(layer_norm_kernel, "layer_norm");
ZOO_TABLE(layer_norm_grad_kernel, "layer_norm gradient");
ZOO_TABLE(softmax_kernel, "softmax");
ZOO_TABLE(softmax_grad_kernel, "softmax gradient");
ZOO_TABLE(cross_entropy_kernel, "cross_entropy");
ZOO_TABLE(cross_entropy_grad_kernel, "cross_entropy gradient");
ZOO_TABLE(max_pool_kernel, "max_pool2d");
ZOO_TABLE(max_pool_grad_kernel, "max_pool2d gradient");
ZOO_TABLE(avg_pool_kernel, "avg_pool2d");
ZOO_TABLE(avg_pool_grad_kernel, "avg_pool2d gradient");
ZOO_TABLE(unfold_kernel, "unfold");
ZOO_TABLE(fold_kernel, "fold");
ZOO_TABLE(random_fill_kernel, "random numbers");
ZOO_TABLE(dropout_kernel, "dropout");
ZOO_TABLE(embedding_kernel, "embedding");
ZOO_TABLE(embedding_grad_kernel, "embedding gradient");
ZOO_TABLE(image_lookup_kernel, "normalize_images");
ZOO_TABLE(sgd_kernel, "sgd_step");
ZOO_TABLE(adam_kernel, "adamw_step");
ZOO_TABLE(sum_squares_kernel, "grad_norm");
ZOO_TABLE(scale_kernel, "scale_grads");

#undef ZOO_TABLE

}  // namespace zoo
