// Creation, shape, reduction, matrix and selection functions.
#include "bindings/bind.h"
#include "ops/complex.h"

namespace zoo {

Axes to_axes(const AxesArg& arg) {
  if (!arg) return std::nullopt;
  if (const auto* one = std::get_if<int64_t>(&*arg)) return Dims{*one};
  const auto& many = std::get<std::vector<int64_t>>(*arg);
  return Dims(many.begin(), many.end());
}

Dims to_dims(const ShapeArg& arg) {
  if (const auto* one = std::get_if<int64_t>(&arg)) return Dims{*one};
  const auto& many = std::get<std::vector<int64_t>>(arg);
  return Dims(many.begin(), many.end());
}

namespace {

using OptDType = std::optional<DType>;

// Ends and step of arange as whole numbers, where they all are.
struct WholeRange {
  int64_t start, stop, step;
};
std::optional<WholeRange> whole_range(py::handle start, py::handle stop, py::handle step) {
  int64_t values[3];
  int i = 0;
  for (py::handle h : {start, stop, step}) {
    if (!PyLong_Check(h.ptr())) return std::nullopt;
    int overflow = 0;
    values[i++] = PyLong_AsLongLongAndOverflow(h.ptr(), &overflow);
    if (overflow != 0) return std::nullopt;
  }
  return WholeRange{values[0], values[1], values[2]};
}

// As empty_like; on x's device if none is named.
Tensor empty_there(const Tensor& x, DType dtype, const py::object& device) {
  return empty_strided(x.shape(), dense_strides_like(x.shape(), x.strides()), dtype,
                       device.is_none() ? x.device() : device_from(device));
}

void bind_filled(py::module_& m) {
  const auto def_filled = [&](const char* name, auto make, const char* doc) {
    m.def(name,
          [make](const ShapeArg& shape, OptDType dtype, const py::object& device) {
            return make(to_dims(shape), dtype.value_or(DType::kF32), device_from(device));
          },
          py::arg("shape"), py::kw_only(), py::arg("dtype") = py::none(),
          py::arg("device") = py::none(), doc);
  };
  def_filled("zeros", [](const Dims& s, DType d, Device on) { return zeros(s, d, on); },
             "A tensor of zeros, float32 unless told otherwise.");
  def_filled("ones", [](const Dims& s, DType d, Device on) { return ones(s, d, on); },
             "A tensor of ones, float32 unless told otherwise.");
  def_filled("empty", [](const Dims& s, DType d, Device on) { return empty(s, d, on); },
             "A tensor whose elements are whatever the memory held.");
  m.def("full",
        [](const ShapeArg& shape, py::handle value, OptDType dtype, const py::object& device) {
          const Tensor t = to_tensor(value, dtype);
          check(t.numel() == 1, "full: expected a single value, got shape ", to_string(t.shape()));
          Tensor out = empty(to_dims(shape), t.dtype(), device_from(device));
          return copy_(out, t);
        },
        py::arg("shape"), py::arg("fill_value"), py::kw_only(), py::arg("dtype") = py::none(),
        py::arg("device") = py::none(),
        "A tensor filled with one value, of that value's default dtype unless told otherwise.");
  const auto def_like = [&](const char* name, double value, bool fill, const char* doc) {
    m.def(name,
          [value, fill](const Tensor& x, OptDType dtype, const py::object& device) {
            Tensor out = empty_there(x, dtype.value_or(x.dtype()), device);
            return fill ? fill_(out, value) : out;
          },
          py::arg("x"), py::pos_only(), py::kw_only(), py::arg("dtype") = py::none(),
          py::arg("device") = py::none(), doc);
  };
  def_like("zeros_like", 0, true, "Zeros with the shape, layout and dtype of x.\n\n"
                                  ">>> engine.zeros_like(engine.asarray([1, 2])).tolist()\n"
                                  "[0, 0]");
  def_like("ones_like", 1, true, "Ones with the shape, layout and dtype of x.\n\n"
                                 ">>> engine.ones_like(engine.asarray([0.5, 2.0])).tolist()\n"
                                 "[1.0, 1.0]");
  def_like("empty_like", 0, false, "Uninitialised, with the shape, layout and dtype of x.\n\n"
                                   ">>> engine.empty_like(engine.zeros((2, 3))).shape\n(2, 3)");
  m.def("full_like",
        [](const Tensor& x, py::handle value, OptDType dtype, const py::object& device) {
          const Tensor t = to_tensor(value, dtype.value_or(x.dtype()));
          check(t.numel() == 1, "full_like: expected a single value, got shape ",
                to_string(t.shape()));
          Tensor out = empty_there(x, t.dtype(), device);
          return copy_(out, t);
        },
        py::arg("x"), py::pos_only(), py::arg("fill_value"), py::kw_only(),
        py::arg("dtype") = py::none(), py::arg("device") = py::none(),
        "One value with the shape, layout and dtype of x.\n\n"
        "Raises ValueError if fill_value is more than one value.\n\n"
        ">>> engine.full_like(engine.asarray([1, 2]), 7).tolist()\n[7, 7]");
}

void bind_creation(py::module_& m) {
  bind_filled(m);
  m.def("arange",
        [](py::handle start, py::handle stop, py::handle step, OptDType dtype,
           const py::object& device) {
          const Device on = device_from(device);
          const py::int_ zero(0);
          const py::handle first = stop.is_none() ? py::handle(zero) : start;
          const py::handle last = stop.is_none() ? start : stop;
          const auto whole = whole_range(first, last, step);
          const DType out = dtype.value_or(whole ? DType::kI64 : DType::kF32);
          if (whole && is_integral(out)) {
            return to_device(arange_whole(whole->start, whole->stop, whole->step, out), on);
          }
          return to_device(arange(py::cast<double>(first), py::cast<double>(last),
                                  py::cast<double>(step), out),
                           on);
        },
        py::arg("start"), py::pos_only(), py::arg("stop") = py::none(), py::arg("step") = 1,
        py::kw_only(), py::arg("dtype") = py::none(), py::arg("device") = py::none(),
        "Evenly spaced values from start up to, not including, stop; arange(n) starts at 0.");
  m.def("linspace",
        [](std::complex<double> start, std::complex<double> stop, int64_t num, OptDType dtype,
           const py::object& device, bool endpoint) {
          const Device on = device_from(device);
          const bool imaginary = start.imag() != 0 || stop.imag() != 0;
          const DType out = dtype.value_or(imaginary ? DType::kC64 : DType::kF32);
          check<TypeError>(!imaginary || is_complex(out), "linspace: ", dtype_name(out),
                           " cannot hold complex ends");
          const DType parts = real_dtype(out);
          const Tensor values = linspace(start.real(), stop.real(), num, parts, endpoint);
          if (!is_complex(out)) return to_device(values, on);
          return to_device(
              join_parts(values, linspace(start.imag(), stop.imag(), num, parts, endpoint)), on);
        },
        py::arg("start"), py::arg("stop"), py::pos_only(), py::arg("num"), py::kw_only(),
        py::arg("dtype") = py::none(), py::arg("device") = py::none(), py::arg("endpoint") = true,
        "num evenly spaced values from start to stop.");
  m.def("eye",
        [](int64_t rows, std::optional<int64_t> columns, const py::int_& k, OptDType dtype,
           const py::object& device) {
          const Device on = device_from(device);
          int overflow = 0;  // beyond the last diagonal there is nothing, however far
          int64_t at = PyLong_AsLongLongAndOverflow(k.ptr(), &overflow);
          if (overflow != 0) at = overflow * std::numeric_limits<int64_t>::max();
          return to_device(eye(rows, columns.value_or(rows), at, dtype.value_or(DType::kF32)), on);
        },
        py::arg("n_rows"), py::arg("n_cols") = py::none(), py::pos_only(), py::kw_only(),
        py::arg("k") = 0, py::arg("dtype") = py::none(), py::arg("device") = py::none(),
        "Ones on diagonal k, zeros elsewhere.");
}

// A function of module and class whose last arguments need conversion from Python first.
template <class F, class... Extra>
void def_pair(py::module_& m, TensorClass& cls, const char* name, F fn, const char* doc,
              const Extra&... extra) {
  m.def(name, fn, py::arg("x"), extra..., doc);
  cls.def(name, fn, extra..., doc);
}

void bind_shapes(py::module_& m, TensorClass& cls) {
  m.def("reshape",
        [](const Tensor& x, const ShapeArg& shape, std::optional<bool> copy) {
          OpScope scope;
          const Tensor out = reshape(x, to_dims(shape));
          check(copy != false || out.storage() == x.storage(), "reshape: a tensor of shape ",
                to_string(x.shape()), " and strides ", to_string(x.strides()),
                " has no view of shape ", to_string(out.shape()), ", and copy=False");
          return copy == true && out.storage() == x.storage() ? clone(out) : out;
        },
        py::arg("x"), py::arg("shape"), py::kw_only(), py::arg("copy") = py::none(),
        "The same elements in another shape; one size may be -1. A view where memory allows, "
        "unless copy=True; with copy=False a ValueError where it does not.\n\n"
        "Raises ValueError if the elements do not fill the shape.\n\n"
        ">>> engine.reshape(engine.arange(6), (2, -1)).tolist()\n[[0, 1, 2], [3, 4, 5]]");
  m.def("permute_dims",
        [](const Tensor& x, const ShapeArg& axes) {
          OpScope scope;
          return permute_dims(x, to_dims(axes));
        },
        py::arg("x"), py::arg("axes"), "The axes in another order, as a view.");
  def_both(m, cls, "swapaxes", &swapaxes, "Two axes exchanged, as a view.\n\n"
                                          "Raises IndexError for an axis out of range.\n\n"
                                          ">>> engine.swapaxes(engine.zeros((2, 3)), 0, 1).shape\n"
                                          "(3, 2)", py::arg("axis1"),
           py::arg("axis2"));
  def_pair(m, cls, "squeeze", [](const Tensor& x, const AxesArg& axis) {
    OpScope scope;
    Dims axes;
    if (axis) {
      axes = *to_axes(axis);
    } else {
      for (int i = 0; i < x.ndim(); ++i) {
        if (x.shape()[i] == 1) axes.push_back(i);
      }
    }
    return squeeze(x, axes);
  }, "Axes of size 1 removed: those named, or all.\n\n"
     "Raises ValueError for a named axis of another size.\n\n"
     ">>> engine.zeros((1, 3, 1)).squeeze().shape\n(3,)", py::arg("axis") = py::none());
  def_both(m, cls, "expand_dims", &expand_dims, "A new axis of size 1.\n\n"
                                                "Raises IndexError for an axis out of range.\n"
                                                "\n"
                                                ">>> engine.zeros((2, 3)).expand_dims(1).shape\n"
                                                "(2, 1, 3)", py::arg("axis") = 0);
  cls.def("unsqueeze", as_op(&expand_dims), py::arg("axis"),
      "A new axis of size 1.\n\n"
      ">>> engine.zeros((2, 3)).unsqueeze(0).shape\n(1, 2, 3)");
  def_pair(m, cls, "broadcast_to", [](const Tensor& x, const ShapeArg& shape) {
    OpScope scope;
    return broadcast_to(x, to_dims(shape));
  }, "A view of another shape, by broadcasting.\n\n"
     "Any dtype. Raises ValueError for shapes that do not broadcast.\n\n"
     ">>> engine.broadcast_to(engine.asarray([1, 2]), (2, 2)).tolist()\n[[1, 2], [1, 2]]",
     py::arg("shape"));
  def_pair(m, cls, "flip", [](const Tensor& x, const AxesArg& axis) {
    OpScope scope;
    Dims axes;
    if (axis) {
      axes = *to_axes(axis);
    } else {
      for (int i = 0; i < x.ndim(); ++i) axes.push_back(i);
    }
    return flip(x, axes);
  }, "Elements in reverse order along the axes named, or all; a view.\n\n"
     "Raises IndexError for an axis out of range.\n\n"
     ">>> engine.flip(engine.asarray([1, 2, 3])).tolist()\n[3, 2, 1]",
           py::arg("axis") = py::none());
  def_both(m, cls, "diagonal", &diagonal,
      "A diagonal of two axes, as the last axis of a view.\n\n"
      "Raises IndexError for an axis out of range.\n\n"
      ">>> engine.diagonal(engine.asarray([[1, 2], [3, 4]])).tolist()\n[1, 4]",
           py::arg("offset") = 0, py::arg("axis1") = 0, py::arg("axis2") = 1);
  def_op(m, "concat",
         +[](const std::vector<Tensor>& arrays, std::optional<int64_t> axis) {
           if (axis) return concat(arrays, *axis);
           std::vector<Tensor> flat;
           for (const Tensor& t : arrays) flat.push_back(reshape(t, {-1}));
           return concat(flat, 0);
         },
         py::arg("arrays"), py::arg("axis") = 0,
         "Tensors joined along an axis they have; flattened first if axis is None.");
  def_op(m, "stack", &stack, py::arg("arrays"), py::arg("axis") = 0,
         "Tensors joined along a new axis.\n\n"
         "All of one shape. Raises ValueError for none, or for shapes that differ.\n\n"
         ">>> engine.stack([engine.zeros(2), engine.ones(2)]).tolist()\n"
         "[[0.0, 0.0], [1.0, 1.0]]");
}

void bind_reductions(py::module_& m, TensorClass& cls) {
  using Fn = Tensor (*)(const Tensor&, const Axes&, bool);
  const auto def_plain = [&](const char* name, Fn fn, const char* doc) {
    def_pair(m, cls, name, [fn](const Tensor& x, const AxesArg& axis, bool keepdims) {
      const Axes axes = to_axes(axis);
      OpScope scope;
      return fn(x, axes, keepdims);
    }, doc, py::arg("axis") = py::none(), py::arg("keepdims") = false);
  };
  def_plain("mean", &mean,
      "Mean over the axes named, or all. Accumulates in float64.\n\n"
      "axis: an int, several, or None; keepdims: keep them with size 1. Raises TypeError for\n"
      "integers, IndexError for an axis out of range.\n\n"
      ">>> engine.mean(engine.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()\n[2.0, 3.0]");
  def_plain("max", &zoo::max,
      "Largest element; NaN if there is one.\n\n"
      "Any real dtype; axis: an int, several, or None for all. Raises ValueError where there are no\n"
      "elements.\n\n>>> engine.max(engine.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=1).tolist()\n"
      "[2.0, 4.0]");
  def_plain("min", &zoo::min,
      "Smallest element; NaN if there is one.\n\n"
      "Any real dtype; axis: an int, several, or None for all. Raises ValueError where there are no\n"
      "elements.\n\n>>> engine.min(engine.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=1).tolist()\n"
      "[1.0, 3.0]");
  def_plain("any", &any, "Whether any element is true.\n\n"
                         "Any dtype: what is not 0 is true. Gives bool.\n\n"
                         ">>> engine.any(engine.asarray([0, 3])).item()\nTrue");
  def_plain("all", &all, "Whether all elements are true.\n\n"
                         "Any dtype: what is not 0 is true. Gives bool.\n\n"
                         ">>> engine.all(engine.asarray([0, 3])).item()\nFalse");
  using TypedFn = Tensor (*)(const Tensor&, const Axes&, bool, OptDType);
  const auto def_typed = [&](const char* name, TypedFn fn, const char* doc) {
    def_pair(m, cls, name,
             [fn](const Tensor& x, const AxesArg& axis, bool keepdims, OptDType dtype) {
               const Axes axes = to_axes(axis);
               OpScope scope;
               return fn(x, axes, keepdims, dtype);
             },
             doc, py::arg("axis") = py::none(), py::arg("keepdims") = false,
             py::arg("dtype") = py::none());
  };
  def_typed("sum", &sum,
      "Sum over the axes named, or all. Accumulates in float64 or int64.\n\n"
      "Small integers and bool give int64 or uint64 unless a dtype is named. Raises IndexError for an\n"
      "axis out of range.\n\n"
      ">>> engine.sum(engine.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()\n[4.0, 6.0]");
  def_typed("prod", &prod,
      "Product over the axes named, or all.\n\n"
      "Small integers and bool give int64 or uint64 unless a dtype is named. Raises IndexError for an\n"
      "axis out of range.\n\n>>> engine.prod(engine.asarray([2, 3, 4])).item()\n24");
  using SpreadFn = Tensor (*)(const Tensor&, const Axes&, double, bool);
  const auto def_spread = [&](const char* name, SpreadFn fn, const char* doc) {
    def_pair(m, cls, name,
             [fn](const Tensor& x, const AxesArg& axis, double correction, bool keepdims) {
               const Axes axes = to_axes(axis);
               OpScope scope;
               return fn(x, axes, correction, keepdims);
             },
             doc, py::arg("axis") = py::none(), py::arg("correction") = 0.0,
             py::arg("keepdims") = false);
  };
  def_spread("var", &var,
      "Variance; divides by n - correction.\n\n"
      "Floating-point dtypes; over the axes named, or all. Raises TypeError for integers.\n\n"
      ">>> engine.var(engine.asarray([1.0, 3.0])).item()\n1.0");
  def_spread("std", &zoo::std,
      "Standard deviation; divides by n - correction.\n\n"
      "Floating-point dtypes; over the axes named, or all. Raises TypeError for integers.\n\n"
      ">>> engine.std(engine.asarray([1.0, 5.0])).item()\n2.0");
  def_both(m, cls, "argmax", &argmax,
      "Position of the first largest element.\n\n"
      "An int64 along one axis, or in reading order if axis is None. Raises IndexError for an axis\n"
      "out of range, ValueError where there are no elements.\n\n"
      ">>> engine.argmax(engine.asarray([2.0, 7.0, 7.0])).item()\n1",
           py::arg("axis") = py::none(), py::arg("keepdims") = false);
  def_both(m, cls, "argmin", &argmin,
      "Position of the first smallest element.\n\n"
      "An int64 along one axis, or in reading order if axis is None. Raises IndexError for an axis\n"
      "out of range, ValueError where there are no elements.\n\n"
      ">>> engine.argmin(engine.asarray([2.0, 7.0, 7.0])).item()\n0",
           py::arg("axis") = py::none(), py::arg("keepdims") = false);
}

}  // namespace

Conv2dOptions conv2d_options(Pair stride, Pair padding, Pair dilation, int64_t groups) {
  Conv2dOptions o;
  std::copy(stride.begin(), stride.end(), o.stride);
  std::copy(padding.begin(), padding.end(), o.padding);
  std::copy(dilation.begin(), dilation.end(), o.dilation);
  o.groups = groups;
  return o;
}

void bind_functions(py::module_& m, TensorClass& cls) {
  bind_creation(m);
  bind_shapes(m, cls);
  bind_reductions(m, cls);
  m.def("matmul", as_op(&matmul), py::arg("a"), py::arg("b"),
        "Matrix product; leading axes broadcast, a 1-d operand is a vector.\n\n"
        "a (..., n, k), b (..., k, m) -> (..., n, m), of the promoted dtype. Raises ValueError for shapes\n"
        "that do not fit.\n\n"
        ">>> engine.matmul(engine.ones((2, 3)), engine.ones((3, 4))).shape\n(2, 4)");
  def_op(m, "linear", +[](const Tensor& x, const Tensor& w, const std::optional<Tensor>& b) {
    return linear(x, w, or_none(b));
  }, py::arg("x"), py::arg("weight"), py::arg("bias") = py::none(),
         "x W^T + b for x (..., in), weight (out, in), bias (out,).\n\n"
         "Gives (..., out), of the operands' one floating-point dtype. Raises ValueError for shapes that\n"
         "do not fit, TypeError for dtypes that differ.\n\n"
         ">>> engine.linear(engine.ones((2, 3)), engine.ones((4, 3))).shape\n(2, 4)");
  def_op(m, "conv2d",
         +[](const Tensor& x, const Tensor& w, const std::optional<Tensor>& b,
             Pair stride, Pair padding, Pair dilation, int64_t groups,
             const std::optional<Tensor>& residual, bool relu) {
           return conv2d(x, w, or_none(b), conv2d_options(stride, padding, dilation, groups),
                         or_none(residual), relu);
         },
         py::arg("x"), py::arg("weight"), py::arg("bias") = py::none(),
         py::arg("stride") = Pair{1, 1}, py::arg("padding") = Pair{0, 0},
         py::arg("dilation") = Pair{1, 1}, py::arg("groups") = 1,
         py::arg("residual") = py::none(), py::arg("relu") = false,
         "Convolution of x (N, C, H, W) with weight (out, C / groups, kh, kw), plus bias and "
         "residual, then ReLU if asked.\n\n"
         "Args:\n    x: pictures (N, C, H, W), one floating-point dtype for all operands.\n"
         "    weight: filters (out, C / groups, kh, kw).\n    bias: (out,), or None.\n"
         "    stride, padding, dilation: (rows, columns), in pixels; zeros are padded.\n"
         "    groups: parts of the channels that are convolved separately.\n"
         "    residual: added before the ReLU; the result's shape.\n\n"
         "Returns (N, out, H', W') with H' = (H + 2 padding - dilation (kh - 1) - 1) / stride + 1, rounded\n"
         "down. 3x3 windows of stride 1 may use Winograd's algorithm (Lavin and Gray, arXiv:1509.09308): see\n"
         "set_conv_algorithm. Raises ValueError for shapes that do not fit, TypeError for dtypes that\n"
         "differ. engine.nn.functional.conv2d takes single numbers for pairs.\n\n"
         ">>> x, weight = engine.ones((1, 3, 8, 8)), engine.ones((4, 3, 3, 3))\n"
         ">>> engine.conv2d(x, weight, padding=(1, 1)).shape\n(1, 4, 8, 8)");
  m.def("where",
        [](const Tensor& condition, py::handle a, py::handle b) {
          const bool a_first = is_tensor(a);
          check<TypeError>(a_first || is_tensor(b),
                           "where: expected at least one engine.Tensor to choose from");
          const Tensor like(py::cast<TensorImpl*>(a_first ? a : b));
          const auto left = to_operand(a, like), right = to_operand(b, like);
          check<TypeError>(left && right, "where: expected tensors or numbers");
          OpScope scope;
          return where(condition, *left, *right);
        },
        py::arg("condition"), py::arg("a"), py::arg("b"), "a where condition holds, else b.");
  def_op(m, "take",
         +[](const Tensor& x, const Tensor& indices, std::optional<int64_t> axis) {
           check(axis || x.ndim() == 1, "take: a tensor of shape ", to_string(x.shape()),
                 " has no single axis; name one");
           return take(x, indices, axis.value_or(0));
         },
         py::arg("x"), py::arg("indices"), py::kw_only(), py::arg("axis") = py::none(),
         "The elements of x at integer positions along an axis, which a 1-d tensor need not name.");
  m.def("nonzero",
        [](const Tensor& x) {
          check(x.ndim() > 0, "nonzero: a 0-d tensor has no positions; expected at least 1 dimension");
          return py::tuple(py::cast(nonzero(x)));
        },
        py::arg("x"),
        "Positions of the nonzero elements, one int64 tensor per axis. ValueError for 0-d.\n\n"
        ">>> engine.nonzero(engine.asarray([0, 5, 0, 6]))[0].tolist()\n[1, 3]");
  const auto clip_fn = [](const Tensor& x, py::handle low, py::handle high) {
    const auto bound = [&](py::handle h) {
      return h.is_none() ? std::optional<Tensor>() : to_operand(h, x);
    };
    const auto lo = bound(low), hi = bound(high);
    OpScope scope;
    return clip(x, lo, hi);
  };
  def_pair(m, cls, "clip", clip_fn, "Elements limited to [min, max]; NaN stays NaN.\n\n"
                                    ">>> engine.asarray([-1.0, 5.0]).clip(0, 1).tolist()\n"
                                    "[0.0, 1.0]",
           py::arg("min") = py::none(), py::arg("max") = py::none());
}

}  // namespace zoo
