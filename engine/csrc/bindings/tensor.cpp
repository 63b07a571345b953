// The Tensor class: attributes, layout, conversion, in-place methods.
#include "bindings/bind.h"

namespace zoo {
namespace {

MemoryFormat format_from(const std::string& name) {
  if (name == "contiguous") return MemoryFormat::kContiguous;
  check(name == "channels_last", "memory_format: expected 'contiguous' or 'channels_last', got '",
        name, "'");
  return MemoryFormat::kChannelsLast;
}

py::tuple to_tuple(const Dims& dims) {
  py::tuple out(dims.size());
  for (int i = 0; i < dims.size(); ++i) out[i] = dims[i];
  return out;
}

Tensor to(const Tensor& t, py::handle target) {
  const bool names_device =
      py::isinstance<py::str>(target) && is_device_name(py::cast<std::string>(target));
  if (names_device || py::isinstance<PyDevice>(target)) {
    const Device device = device_from(target);
    OpScope scope;
    return to_device(t, device);
  }
  const DType dtype = dtype_from(target);
  OpScope scope;
  return convert(t, dtype);
}

Tensor flatten(const Tensor& t, int64_t start, int64_t end) {
  if (t.ndim() == 0) return reshape(t, {1});
  const int a = normalize_axis("flatten", start, t.ndim());
  const int b = normalize_axis("flatten", end, t.ndim());
  check(a <= b, "flatten: start_dim ", start, " lies behind end_dim ", end);
  Dims shape;
  for (int i = 0; i < t.ndim(); ++i) {
    if (i > a && i <= b) {
      shape.back() *= t.shape()[i];
    } else {
      shape.push_back(t.shape()[i]);
    }
  }
  return reshape(t, shape);
}

void set_requires_grad(TensorImpl& self, bool on) {
  const Tensor t(&self);
  check<TypeError>(!on || is_differentiable(t.dtype()),
                   "requires_grad: only floating-point and complex tensors have gradients, this one is ",
                   dtype_name(t.dtype()));
  check<AutogradError>(on || !t.grad_fn(),
                       "requires_grad: this tensor is the result of ",
                       t.grad_fn() ? std::string(t.grad_fn()->where()) : std::string(),
                       " and keeps requiring gradients; use detach()");
  if (!t.grad_fn() && (on || self.meta)) self.autograd().requires_grad = on;
}

void set_grad(TensorImpl& self, const std::optional<Tensor>& grad) {
  check(!grad || (grad->shape() == self.shape && grad->dtype() == self.dtype &&
                  grad->device() == self.storage->device()),
        "grad: expected ", describe(Tensor(&self)), ", got ",
        grad ? describe(*grad) : std::string());
  if (grad || self.meta) self.autograd().grad = or_none(grad);
}

std::string representation(const Tensor& t) {
  const auto numpy = py::module_::import("numpy");
  const Tensor here = to_host(detach(t));
  const Tensor shown = here.dtype() == DType::kBF16 ? astype(here, DType::kF32) : here;
  const auto text = py::cast<std::string>(numpy.attr("array2string")(
      py::cast(shown).attr("numpy")(), py::arg("separator") = ", ", py::arg("prefix") = "Tensor(",
      py::arg("threshold") = 1000));
  std::string out = "Tensor(" + text;
  // As numpy: where the text does not show it.
  const bool hides_shape = t.numel() > 1000 || (t.numel() == 0 && t.shape() != Dims{0});
  if (hides_shape) out += concat_text(", shape=", to_string(t.shape()));
  out += std::string(", dtype=") + dtype_name(t.dtype());
  if (t.device().type != DeviceType::kCPU) {
    out += concat_text(", device='", device_text(t.device()), "'");
  }
  if (t.grad_fn()) {
    out += std::string(", grad_fn=") + t.grad_fn()->name();
  } else if (t.requires_grad()) {
    out += ", requires_grad=True";
  }
  return out + ")";
}

Tensor method_reshape(const Tensor& t, const py::args& args) {
  Dims shape;
  const bool one = args.size() == 1 && !PyIndex_Check(py::object(args[0]).ptr());
  const py::object source = one ? py::object(args[0]) : py::object(args);
  for (py::handle h : source) shape.push_back(py::cast<int64_t>(h));
  OpScope scope;
  return reshape(t, shape);
}

Tensor method_permute(const Tensor& t, const py::args& args) {
  Dims axes;
  const bool one = args.size() == 1 && !PyIndex_Check(py::object(args[0]).ptr());
  const py::object source = one ? py::object(args[0]) : py::object(args);
  for (py::handle h : source) axes.push_back(py::cast<int64_t>(h));
  OpScope scope;
  return permute_dims(t, axes);
}

Tensor zero_(const Tensor& t) {
  check_inplace("zero_", t, false);
  t.storage()->bump_version();
  fill_(t, 0);
  forget_history("zero_", t);
  return t;
}

Tensor checked_fill(const Tensor& t, double value) {
  check_inplace("fill_", t, false);
  t.storage()->bump_version();
  fill_(t, value);
  forget_history("fill_", t);
  return t;
}

// Python's buffer protocol: memoryview(t), numpy.frombuffer(t).
py::buffer_info buffer_of(const Tensor& t) {
  if (t.requires_grad()) {
    throw py::buffer_error("this tensor requires gradients, which a reader of its memory would not "
                           "record; use .detach()");
  }
  if (t.device().type != DeviceType::kCPU) {
    throw py::buffer_error("this tensor is on '" + device_text(t.device()) +
                           "', whose memory the processor cannot read; use .to('cpu') first");
  }
  if (t.dtype() == DType::kBF16) {
    throw py::buffer_error("the buffer protocol has no format for bfloat16; use "
                           ".astype(engine.float32) first");
  }
  const auto format = py::cast<std::string>(
      py::module_::import("numpy").attr("dtype")(dtype_name(t.dtype())).attr("char"));
  std::vector<py::ssize_t> shape(t.shape().begin(), t.shape().end()), strides;
  const int64_t size = itemsize(t.dtype());
  for (int64_t s : t.strides()) strides.push_back(s * size);
  const std::string code = t.dtype() == DType::kC64 ? "Zf" : t.dtype() == DType::kC128 ? "Zd" : format;
  t.storage()->expose();
  return py::buffer_info(t.data(), size, code, t.ndim(), shape, strides, t.storage()->read_only());
}

void bind_attributes(TensorClass& cls) {
  cls.def_property_readonly("shape", [](const Tensor& t) { return to_tuple(t.shape()); },
                            "Sizes of the axes, a tuple.\n\n"
                            ">>> engine.zeros((2, 3)).shape\n(2, 3)")
      .def_property_readonly("dtype", [](const Tensor& t) { return t.dtype(); },
          "Type of the elements.\n\n"
          ">>> engine.zeros(2).dtype\nfloat32")
      .def_property_readonly("ndim", [](const Tensor& t) { return t.ndim(); },
          "Number of axes.\n\n"
          ">>> engine.zeros((2, 3)).ndim\n2")
      .def_property_readonly("size", [](const Tensor& t) { return t.numel(); },
                             "Number of elements.\n\n"
                             ">>> engine.zeros((2, 3)).size\n6")
      .def_property_readonly("nbytes",
                             [](const Tensor& t) { return t.numel() * itemsize(t.dtype()); },
                             "Bytes the elements take.\n\n"
                             ">>> engine.zeros((2, 3)).nbytes\n24")
      .def_property_readonly("device",
                             [](const Tensor& t) { return PyDevice{t.device()}; },
                             "Where the elements live; it equals its name, such as 'cpu' or 'cuda:0'.\n\n"
                             ">>> engine.zeros(2).device == 'cpu'\nTrue")
      .def_property("requires_grad", [](const TensorImpl& t) {
            return Tensor(const_cast<TensorImpl*>(&t)).requires_grad();
          }, &set_requires_grad, "Whether operations on this tensor are recorded.\n\n"
                                 "May be set on leaves. Raises TypeError for integers.\n\n"
                                 ">>> engine.zeros(2).requires_grad\nFalse")
      .def_property("grad", [](TensorImpl& t) { return Tensor(&t).grad(); }, &set_grad,
                    "The gradient that backward() accumulated, or None.\n\n"
                    ">>> x = engine.zeros(2)\n>>> x.requires_grad = True\n"
                    ">>> x.sum().backward()\n>>> x.grad.tolist()\n[1.0, 1.0]")
      .def_property_readonly("is_leaf", [](const Tensor& t) { return !t.grad_fn(); },
                             "Whether no recorded operation made this tensor.\n\n"
                             ">>> engine.zeros(2).is_leaf\nTrue")
      .def_property_readonly("version", [](const Tensor& t) { return t.storage()->version(); },
                             "How often the memory was changed in place.\n\n"
                             ">>> engine.zeros(2).fill_(1.0).version\n1")
      .def("data_ptr", [](const Tensor& t) {
             t.storage()->expose();
             return reinterpret_cast<uintptr_t>(t.data());
           },
           "Address of the first element.\n\n"
           ">>> x = engine.zeros(2)\n>>> x.data_ptr() == x.numpy().ctypes.data\nTrue")
      .def("strides", [](const Tensor& t) { return to_tuple(t.strides()); },
           "Steps from one element to the next along each axis, in elements.\n\n"
           ">>> engine.zeros((2, 3)).strides()\n(3, 1)")
      .def("is_contiguous",
           [](const Tensor& t, const std::string& f) { return t.is_contiguous(format_from(f)); },
           py::arg("memory_format") = "contiguous",
           "Whether memory is in row-major order, or with 'channels_last' in NHWC order.\n\n"
           ">>> engine.zeros((2, 3)).T.is_contiguous()\nFalse")
      .def_property_readonly("T", [](const Tensor& t) {
            OpScope scope;
            Dims axes;
            for (int i = t.ndim() - 1; i >= 0; --i) axes.push_back(i);
            return permute_dims(t, axes);
          }, "The tensor with its axes in reverse order.\n\n"
             ">>> engine.zeros((2, 3)).T.shape\n(3, 2)")
      .def_property_readonly("mT", [](const Tensor& t) {
            OpScope scope;
            return swapaxes(t, -1, -2);
          }, "The tensor with its last two axes swapped.\n\n"
             ">>> engine.zeros((2, 3, 4)).mT.shape\n(2, 4, 3)");
}

}  // namespace

PyTypeObject* g_tensor_type = nullptr;
const py::detail::type_info* g_tensor_info = nullptr;

Tensor convert(const Tensor& t, DType dtype) {
  check<TypeError>(!is_complex(t.dtype()) || is_complex(dtype) || is_bool(dtype), "astype: ",
                   dtype_name(dtype), " cannot hold ", dtype_name(t.dtype()),
                   " numbers; take real, imag or abs first");
  return astype(t, dtype);
}

TensorClass bind_tensor(py::module_& m) {
  TensorClass cls(m, "Tensor", py::buffer_protocol(),
                  "An n-dimensional array that can record what is done to it.\n\n"
                  "Tensor(t) is a new leaf over the memory of t. Make tensors from data with "
                  "engine.asarray.\n\n"
                  ">>> x = engine.asarray([1.0, 2.0])\n>>> x.requires_grad = True");
  g_tensor_type = reinterpret_cast<PyTypeObject*>(cls.ptr());
  g_tensor_info = py::detail::get_type_info(g_tensor_type);
  cls.def(py::init([](const Tensor& t) { return alias(t).ref(); }), py::arg("t"));
  cls.def_buffer([](TensorImpl& impl) { return buffer_of(Tensor(&impl)); });
  bind_attributes(cls);
  cls.def("detach", as_op(&detach), "The same memory, outside the graph.\n\n"
                                    ">>> x = engine.zeros(2)\n>>> x.requires_grad = True\n"
                                    ">>> x.detach().requires_grad\nFalse")
      .def("clone", as_op(&clone), "A copy; gradients flow through it.\n\n"
                                   ">>> x = engine.zeros(2)\n"
                                   ">>> x.clone().data_ptr() == x.data_ptr()\nFalse")
      .def("contiguous",
           [](const Tensor& t, const std::string& format) {
             const MemoryFormat f = format_from(format);
             OpScope scope;
             return contiguous(t, f);
           },
           py::arg("memory_format") = "contiguous",
           "This tensor if its memory has that order ('contiguous' or 'channels_last'), else a "
           "copy that has.\n\n"
           ">>> engine.zeros((1, 2, 3, 4)).contiguous('channels_last').strides()\n(24, 1, 8, 2)")
      .def("astype", as_op(&convert), py::arg("dtype"),
           "A copy with elements of another dtype. Raises TypeError from complex to real numbers: "
           "take real, imag or abs.\n\n"
           ">>> engine.asarray([1.9]).astype(engine.int32).tolist()\n[1]")
      .def("to", &to, py::arg("target"),
           "The tensor with another dtype, or on another device: 'cpu', 'cuda', 'cuda:1'. The "
           "tensor itself where it is so already. Differentiable. Raises NotImplementedError where "
           "no GPU can be used.\n\n"
           ">>> engine.zeros(2).to(engine.float64).dtype\nfloat64")
      .def("reshape", &method_reshape,
           "The same elements in another shape: t.reshape(2, -1) or t.reshape((2, -1)).\n\n"
           "Raises ValueError if the elements do not fill it.\n\n"
           ">>> engine.arange(6).reshape(2, -1).shape\n(2, 3)")
      .def("permute_dims", &method_permute,
          "The axes in another order, as a view.\n\n"
          ">>> engine.zeros((2, 3, 4)).permute_dims(2, 0, 1).shape\n(4, 2, 3)")
      .def("flatten", as_op(&flatten), py::arg("start_dim") = 0, py::arg("end_dim") = -1,
           "Axes start_dim to end_dim as one.\n\n"
           ">>> engine.zeros((2, 3, 4)).flatten(1).shape\n(2, 12)")
      .def("zero_", as_op(&zero_), "Sets every element to 0.\n\n"
                                   ">>> engine.ones(2).zero_().tolist()\n[0.0, 0.0]")
      .def("fill_", as_op(&checked_fill), py::arg("value"),
          "Sets every element to a number.\n\n"
          ">>> engine.zeros(2).fill_(3).tolist()\n[3.0, 3.0]")
      .def("copy_", as_op(&copy_), py::arg("source"),
           "Copies source into this tensor, with conversion and broadcasting.\n\n"
           "Raises ValueError for shapes that do not broadcast.\n\n"
           ">>> engine.zeros(2).copy_(engine.asarray([1, 2])).tolist()\n[1.0, 2.0]")
      .def("__repr__", &representation)
      .def("__len__",
           [](const Tensor& t) {
             check<TypeError>(t.ndim() > 0, "len: a 0-d tensor has no length");
             return t.shape()[0];
           })
      .def("__hash__", [](const TensorImpl& t) { return reinterpret_cast<uintptr_t>(&t) >> 4; });
  return cls;
}

}  // namespace zoo
