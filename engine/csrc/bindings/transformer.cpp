// Operations of language models.
#include "ops/transformer_ops.h"

#include "bindings/bind.h"

namespace zoo {
namespace {

using OptTensor = std::optional<Tensor>;

}  // namespace

// What engine.nn.functional builds on; names with an underscore are not public.
void bind_transformer(py::module_& m) {
  def_op(m, "_attention",
         +[](const Tensor& q, const Tensor& k, const Tensor& v, const OptTensor& mask,
             double scale, bool causal) { return attention(q, k, v, or_none(mask), scale, causal); });
  def_op(m, "_self_attention", &self_attention);
  def_op(m, "_linear_cross_entropy",
         +[](const Tensor& x, const Tensor& weight, const Tensor& target, int64_t ignore_index,
             const std::string& reduction, double label_smoothing) {
           return linear_cross_entropy(x, weight, target,
                                       {ignore_index, reduction, label_smoothing});
         });
  def_op(m, "_dequantize",
         +[](const Tensor& codes, const OptTensor& scales) {
           return dequantize(codes, or_none(scales));
         });
  def_op(m, "_quantized_linear",
         +[](const Tensor& x, const Tensor& codes, const OptTensor& scales,
             const OptTensor& bias) {
           return quantized_linear(x, codes, or_none(scales), or_none(bias));
         });
}

}  // namespace zoo
