// Operations of neural networks.
#include "bindings/bind.h"

namespace zoo {
namespace {

using OptTensor = std::optional<Tensor>;

Pool2dOptions pool_options(const Pair& kernel, const Pair& stride, const Pair& padding,
                           bool ceil_mode) {
  Pool2dOptions o;
  for (int d = 0; d < 2; ++d) {
    o.kernel[d] = kernel[d];
    o.stride[d] = stride[d];
    o.padding[d] = padding[d];
  }
  o.ceil_mode = ceil_mode;
  return o;
}

void bind_norms(py::module_& m) {
  def_op(m, "batch_norm",
         +[](const Tensor& x, const OptTensor& weight, const OptTensor& bias,
             const OptTensor& running_mean, const OptTensor& running_var, bool training,
             double momentum, double eps, const OptTensor& residual, bool relu) {
           return batch_norm(x,
                             {or_none(weight), or_none(bias), or_none(running_mean),
                              or_none(running_var)},
                             or_none(residual), {training, momentum, eps, relu});
         },
         py::arg("x"), py::arg("weight") = py::none(), py::arg("bias") = py::none(),
         py::arg("running_mean") = py::none(), py::arg("running_var") = py::none(),
         py::arg("training") = false, py::arg("momentum") = 0.1, py::arg("eps") = 1e-5,
         py::arg("residual") = py::none(), py::arg("relu") = false,
         "act((x - mean) / sqrt(var + eps) * weight + bias + residual) by channel (axis 1) of x, "
         "(N, C), (N, C, L) or (N, C, H, W); act is ReLU or nothing. In training from the batch's "
         "own statistics, which also move the running ones, in place, by momentum; else from the "
         "running ones. Ioffe and Szegedy, arXiv:1502.03167.\n\n"
         "weight, bias, running_mean and running_var have shape (C,). Raises ValueError for shapes that do\n"
         "not fit, and for running statistics that are missing outside training.\n\n"
         ">>> x = engine.asarray([[1.0], [3.0]])\n"
         ">>> engine.batch_norm(x, training=True, eps=0.0).tolist()\n[[-1.0], [1.0]]");
  def_op(m, "_conv2d_norm",
         +[](const Tensor& x, const Tensor& weight, const OptTensor& bias, Pair stride,
             Pair padding, Pair dilation, int64_t groups, const OptTensor& norm_weight,
             const OptTensor& norm_bias, const Tensor& running_mean, const Tensor& running_var,
             double eps, const OptTensor& residual, bool relu) {
           return conv2d_norm(x, weight, or_none(bias),
                              conv2d_options(stride, padding, dilation, groups),
                              {or_none(norm_weight), or_none(norm_bias), running_mean, running_var},
                              eps, or_none(residual), relu);
         },
         py::arg("x"), py::arg("weight"), py::arg("bias"), py::arg("stride"), py::arg("padding"),
         py::arg("dilation"), py::arg("groups"), py::arg("norm_weight"), py::arg("norm_bias"),
         py::arg("running_mean"), py::arg("running_var"), py::arg("eps"), py::arg("residual"),
         py::arg("relu"),
         "conv2d, then batch_norm with the running statistics: in one pass where no gradient is "
         "wanted.");
  def_op(m, "layer_norm",
         +[](const Tensor& x, const std::vector<int64_t>& shape, const OptTensor& weight,
             const OptTensor& bias, double eps) {
           return layer_norm(x, Dims(shape.begin(), shape.end()), or_none(weight), or_none(bias),
                             eps);
         },
         py::arg("x"), py::arg("normalized_shape"), py::arg("weight") = py::none(),
         py::arg("bias") = py::none(), py::arg("eps") = 1e-5,
         "(x - mean) / sqrt(var + eps) * weight + bias over the last axes, whose sizes are "
         "normalized_shape. Ba et al., arXiv:1607.06450.\n\n"
         "weight and bias have that shape. Raises ValueError if x does not end in it, TypeError for\n"
         "integers.\n\n"
         ">>> engine.layer_norm(engine.asarray([[1.0, 3.0]]), [2], eps=0.0).tolist()\n"
         "[[-1.0, 1.0]]");
}

void bind_pools(py::module_& m) {
  def_op(m, "max_pool2d",
         +[](const Tensor& x, Pair kernel, Pair stride, Pair padding, Pair dilation,
             bool ceil_mode) {
           Pool2dOptions o = pool_options(kernel, stride, padding, ceil_mode);
           std::copy(dilation.begin(), dilation.end(), o.dilation);
           return max_pool2d(x, o);
         },
         py::arg("x"), py::arg("kernel"), py::arg("stride"), py::arg("padding") = Pair{0, 0},
         py::arg("dilation") = Pair{1, 1}, py::arg("ceil_mode") = false,
         "Largest element of each window of x (N, C, H, W); NaN if there is one. Padding never "
         "wins; the gradient goes to the first largest element.\n\n"
         "kernel, stride, padding, dilation: (rows, columns). Raises ValueError for a window that does not\n"
         "fit.\n\n>>> engine.max_pool2d(engine.ones((1, 3, 8, 8)), (2, 2), (2, 2)).shape\n"
         "(1, 3, 4, 4)");
  def_op(m, "avg_pool2d",
         +[](const Tensor& x, Pair kernel, Pair stride, Pair padding, bool ceil_mode,
             bool count_include_pad) {
           Pool2dOptions o = pool_options(kernel, stride, padding, ceil_mode);
           o.count_include_pad = count_include_pad;
           return avg_pool2d(x, o);
         },
         py::arg("x"), py::arg("kernel"), py::arg("stride"), py::arg("padding") = Pair{0, 0},
         py::arg("ceil_mode") = false, py::arg("count_include_pad") = true,
         "Mean of each window of x (N, C, H, W); zeros of the padding count unless "
         "count_include_pad is False.\n\n"
         "Raises ValueError for a window that does not fit, TypeError for integers.\n\n"
         ">>> engine.avg_pool2d(engine.ones((1, 3, 8, 8)), (2, 2), (2, 2)).shape\n(1, 3, 4, 4)");
  def_op(m, "adaptive_avg_pool2d",
         +[](const Tensor& x, Pair size) { return adaptive_avg_pool2d(x, size[0], size[1]); },
         py::arg("x"), py::arg("output_size"),
         "Means of x (N, C, H, W) over as many windows as output_size (rows, columns) says; "
         "window k covers floor(k H / rows) to ceil((k + 1) H / rows).\n\n"
         "Raises ValueError for another number of axes, TypeError for integers.\n\n"
         ">>> engine.adaptive_avg_pool2d(engine.ones((1, 3, 8, 8)), (1, 1)).shape\n(1, 3, 1, 1)");
}

UnfoldOptions unfold_options(const Pair& kernel, const Pair& dilation, const Pair& padding,
                             const Pair& stride) {
  UnfoldOptions o;
  std::copy(kernel.begin(), kernel.end(), o.kernel);
  std::copy(dilation.begin(), dilation.end(), o.dilation);
  std::copy(padding.begin(), padding.end(), o.padding);
  std::copy(stride.begin(), stride.end(), o.stride);
  return o;
}

// What engine.nn.functional builds on; names with an underscore are not public.
void bind_windows(py::module_& m) {
  m.def("_max_pool2d_with_indices",
        [](const Tensor& x, Pair kernel, Pair stride, Pair padding, Pair dilation,
           bool ceil_mode) {
          Pool2dOptions o = pool_options(kernel, stride, padding, ceil_mode);
          std::copy(dilation.begin(), dilation.end(), o.dilation);
          Pooled p;
          {
            OpScope scope;
            p = max_pool2d_with_indices(x, o);
          }
          return py::make_tuple(p.largest, p.where);
        });
  m.def("_adaptive_max_pool2d", [](const Tensor& x, Pair size) {
    Pooled p;
    {
      OpScope scope;
      p = adaptive_max_pool2d(x, size[0], size[1]);
    }
    return py::make_tuple(p.largest, p.where);
  });
  def_op(m, "_sum_pool2d",
         +[](const Tensor& x, Pair kernel, Pair stride, Pair padding, bool ceil_mode,
             int64_t divisor) {
           Pool2dOptions o = pool_options(kernel, stride, padding, ceil_mode);
           o.divisor = divisor;
           return avg_pool2d(x, o);
         });
  def_op(m, "_unfold",
         +[](const Tensor& x, Pair kernel, Pair dilation, Pair padding, Pair stride) {
           return unfold(x, unfold_options(kernel, dilation, padding, stride));
         });
  def_op(m, "_fold",
         +[](const Tensor& x, Pair size, Pair kernel, Pair dilation, Pair padding, Pair stride) {
           return fold(x, size[0], size[1], unfold_options(kernel, dilation, padding, stride));
         });
  m.def("_chunks", [](const Tensor& x, int64_t n, int64_t axis) {
    std::vector<Tensor> parts;
    {
      OpScope scope;
      parts = chunks(x, n, axis);
    }
    return py::tuple(py::cast(parts));
  });
  def_op(m, "conv_transpose2d",
         +[](const Tensor& x, const Tensor& w, const OptTensor& b, Pair stride, Pair padding,
             Pair output_padding, int64_t groups, Pair dilation) {
           ConvTranspose2dOptions o;
           std::copy(stride.begin(), stride.end(), o.stride);
           std::copy(padding.begin(), padding.end(), o.padding);
           std::copy(output_padding.begin(), output_padding.end(), o.output_padding);
           std::copy(dilation.begin(), dilation.end(), o.dilation);
           o.groups = groups;
           return conv_transpose2d(x, w, or_none(b), o);
         },
         py::arg("x"), py::arg("weight"), py::arg("bias") = py::none(),
         py::arg("stride") = Pair{1, 1}, py::arg("padding") = Pair{0, 0},
         py::arg("output_padding") = Pair{0, 0}, py::arg("groups") = 1,
         py::arg("dilation") = Pair{1, 1},
         "Transposed convolution of x (N, C, H, W) with weight (C, out / groups, kh, kw): the "
         "gradient that conv2d with that weight sends back to its input. Zeiler et al., CVPR 2010."
         "\n\n"
         "Gives (N, out, H', W') with H' = (H - 1) stride - 2 padding + dilation (kh - 1) + output_padding\n"
         "+ 1. Raises ValueError for shapes that do not fit, TypeError for dtypes that differ.\n"
         "\n>>> x, weight = engine.ones((1, 4, 2, 2)), engine.ones((4, 3, 2, 2))\n"
         ">>> engine.conv_transpose2d(x, weight, stride=(2, 2)).shape\n(1, 3, 4, 4)");
}

void bind_activations(py::module_& m) {
  const auto one = [&](const char* name, Tensor (*fn)(const Tensor&, double, double),
                       const char* arg, double value, const char* doc) {
    m.def(name,
          [fn](const Tensor& x, double p) {
            OpScope scope;
            return fn(x, p, 0);
          },
          py::arg("x"), py::arg(arg) = value, doc);
  };
  one("elu", &elu, "alpha", 1.0,
      "x, or alpha * (exp(x) - 1) where x is not positive (Clevert et al., arXiv:1511.07289).\n\n"
      "Any shape; integers become float32.\n\n"
      ">>> engine.elu(engine.asarray([0.0, 2.0])).tolist()\n[0.0, 2.0]");
  one("celu", &celu, "alpha", 1.0,
      "x, or alpha * (exp(x / alpha) - 1) where x is not positive (Barron, arXiv:1704.07483).\n\n"
      "Any shape; integers become float32.\n\n"
      ">>> engine.celu(engine.asarray([0.0, 2.0])).tolist()\n[0.0, 2.0]");
  one("softshrink", &softshrink, "lambd", 0.5,
      "x moved lambd towards 0, at most to 0.\n\n"
      "Any shape; integers become float32.\n\n"
      ">>> engine.softshrink(engine.asarray([-1.0, 0.25])).tolist()\n[-0.5, 0.0]");
  one("hardshrink", &hardshrink, "lambd", 0.5,
      "x, or 0 where |x| is not above lambd.\n\n"
      "Any shape; integers become float32.\n\n"
      ">>> engine.hardshrink(engine.asarray([-1.0, 0.25])).tolist()\n[-1.0, 0.0]");
  const auto two = [&](const char* name, Tensor (*fn)(const Tensor&, double, double),
                       const py::arg_v& p, const py::arg_v& q, const char* doc) {
    m.def(name,
          [fn](const Tensor& x, double p, double q) {
            OpScope scope;
            return fn(x, p, q);
          },
          py::arg("x"), p, q, doc);
  };
  two("hardtanh", &hardtanh, py::arg("min_val") = -1.0, py::arg("max_val") = 1.0,
      "x limited to [min_val, max_val]; no gradient at the ends.\n\n"
      "Any shape.\n\n>>> engine.hardtanh(engine.asarray([-3.0, 0.5])).tolist()\n[-1.0, 0.5]");
  two("softplus", &softplus, py::arg("beta") = 1.0, py::arg("threshold") = 20.0,
      "log(1 + exp(beta x)) / beta, or x where beta x is above threshold.\n\n"
      "Any shape; integers become float32.\n\n"
      ">>> round(engine.softplus(engine.zeros(1)).item(), 4)\n0.6931");
  m.def("threshold",
        [](const Tensor& x, double limit, double value) {
          OpScope scope;
          return threshold(x, limit, value);
        },
        py::arg("x"), py::arg("threshold"), py::arg("value"),
        "x, or value where x is not above threshold.\n\n"
        "Any shape.\n\n>>> engine.threshold(engine.asarray([0.5, 2.0]), 1.0, 0.0).tolist()\n"
        "[0.0, 2.0]");
}

void bind_losses(py::module_& m) {
  def_op(m, "softmax", &softmax, py::arg("x"), py::arg("axis") = -1,
         "exp(x) / sum(exp(x)) along an axis, without overflow.\n\n"
         "Floating-point dtypes, any shape. Raises TypeError for integers, IndexError for an axis out of\n"
         "range.\n\n>>> engine.softmax(engine.zeros(2)).tolist()\n[0.5, 0.5]");
  def_op(m, "log_softmax", &log_softmax, py::arg("x"), py::arg("axis") = -1,
         "log(softmax(x)) along an axis, exact where softmax underflows.\n\n"
         "Floating-point dtypes, any shape. Raises TypeError for integers, IndexError for an axis out of\n"
         "range.\n\n>>> engine.log_softmax(engine.asarray([0.0, -1000.0])).tolist()\n"
         "[0.0, -1000.0]");
  def_op(m, "cross_entropy",
         +[](const Tensor& logits, const Tensor& target, const OptTensor& weight,
             int64_t ignore_index, const std::string& reduction, double label_smoothing) {
           return cross_entropy(logits, target, or_none(weight),
                                {ignore_index, reduction, label_smoothing});
         },
         py::arg("logits"), py::arg("target"), py::arg("weight") = py::none(),
         py::arg("ignore_index") = -100, py::arg("reduction") = "mean",
         py::arg("label_smoothing") = 0.0,
         "-log softmax(logits)[target] for logits (N, C, ...) and target (N, ...) of class "
         "numbers. 'mean' divides by the sum of the weights of the targets; targets equal to "
         "ignore_index count for nothing. label_smoothing s moves s of each target's mass evenly "
         "to all classes (Szegedy et al., arXiv:1512.00567).\n\n"
         "reduction: 'mean', 'sum' or 'none'; weight: one number for each class, (C,). Raises IndexError for\n"
         "a target that is no class, TypeError for targets that are not integers, ValueError for shapes\n"
         "that do not fit.\n\n"
         ">>> loss = engine.cross_entropy(engine.zeros((2, 4)), engine.asarray([0, 3]))\n"
         ">>> round(loss.item(), 4)\n1.3863");
}

}  // namespace

void bind_nn(py::module_& m) {
  bind_norms(m);
  bind_pools(m);
  bind_windows(m);
  bind_activations(m);
  bind_losses(m);
  def_op(m, "dropout",
         +[](const Tensor& x, double p, Generator* generator) {
           return dropout(x, p, generator ? *generator : default_generator());
         },
         py::arg("x"), py::arg("p"), py::arg("generator") = py::none(),
         "Each element becomes 0 with probability p and is divided by 1 - p otherwise. The mask "
         "is drawn again in the backward pass instead of kept. Srivastava et al., JMLR 15 (2014)."
         "\n\n"
         "Any shape, floating-point dtypes. Raises ValueError for p outside [0, 1].\n\n"
         ">>> engine.dropout(engine.ones(4), 0.0).tolist()\n[1.0, 1.0, 1.0, 1.0]");
  def_op(m, "embedding", &embedding, py::arg("weight"), py::arg("idx"),
         "Rows of weight (V, D) by number: shape idx.shape + (D,). Gradients of repeated rows add "
         "up.\n\n"
         "idx holds integers of any shape. Raises IndexError for a number out of range.\n\n"
         ">>> table = engine.asarray([[1.0, 2.0], [3.0, 4.0]])\n"
         ">>> engine.embedding(table, engine.asarray([1, 0])).tolist()\n"
         "[[3.0, 4.0], [1.0, 2.0]]");
  def_op(m, "normalize_images", &normalize_images, py::arg("x"), py::arg("mean"), py::arg("std"),
         "(x / 255 - mean) / std by channel, for uint8 pictures (N, C, H, W) with any strides: "
         "float32, channels-last.\n\n"
         "mean and std: one number for each channel. Raises TypeError for another dtype.\n\n"
         ">>> x = engine.zeros((1, 3, 2, 2), dtype=engine.uint8)\n"
         ">>> engine.normalize_images(x, [0.5] * 3, [0.25] * 3)[0, 0, 0, 0].item()\n-2.0");
}

}  // namespace zoo
