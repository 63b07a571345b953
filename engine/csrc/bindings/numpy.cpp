// numpy at home: arrays in and out without copies, and asarray.
#include "bindings/bind.h"

namespace zoo {
namespace {

py::module_ numpy() { return py::module_::import("numpy"); }

// Drops a Python reference from any thread; after the interpreter is gone, nothing is left to do.
std::function<void()> keeper(py::object owner) {
  PyObject* p = owner.release().ptr();
  return [p] {
    if (!Py_IsInitialized()) return;
    py::gil_scoped_acquire lock;
    Py_DECREF(p);
  };
}

Tensor from_numpy(py::handle source) {
  check<TypeError>(py::isinstance<py::array>(source), "from_numpy: expected a numpy array, got ",
                   ClassText{source});
  auto array = py::reinterpret_borrow<py::array>(source);
  const auto descr = array.dtype();
  if (!py::cast<bool>(descr.attr("isnative"))) {
    array = array.attr("astype")(descr.attr("newbyteorder")("="));
  }
  const DType dtype = dtype_from(array.dtype());
  const int64_t size = itemsize(dtype);
  Dims shape, strides;
  for (py::ssize_t i = 0; i < array.ndim(); ++i) {
    shape.push_back(array.shape(i));
    const int64_t step = array.strides(i);
    if (step % size != 0 && array.shape(i) > 1) {
      // A field of a structured array, say: no tensor can point into that.
      return from_numpy(array.attr("copy")());
    }
    strides.push_back(array.shape(i) > 1 ? step / size : 1);
  }
  if (reinterpret_cast<uintptr_t>(array.data()) % static_cast<uintptr_t>(size) != 0) {
    return from_numpy(array.attr("copy")());
  }
  const bool read_only = !array.writeable();
  void* data = const_cast<void*>(array.data());
  auto storage = make_ref<Storage>(data, static_cast<size_t>(array.nbytes()), Device{}, read_only,
                                   keeper(array));
  return Tensor(make_ref<TensorImpl>(std::move(storage), dtype, shape, strides, 0));
}

py::dtype numpy_dtype(DType t) {
  check<TypeError>(t != DType::kBF16,
                   "numpy: there is no numpy dtype for bfloat16; use .astype(engine.float32) first");
  return py::dtype(t == DType::kBool ? "bool" : dtype_name(t));
}

py::array to_numpy(const Tensor& t) {
  check<AutogradError>(!t.requires_grad(), "numpy: this tensor requires gradients, which numpy "
                       "would not record; use .detach().numpy()");
  check_on_host("numpy", t);
  std::vector<py::ssize_t> shape(t.shape().begin(), t.shape().end());
  std::vector<py::ssize_t> strides;
  for (int64_t s : t.strides()) strides.push_back(s * itemsize(t.dtype()));
  py::array out(numpy_dtype(t.dtype()), shape, strides, t.data(), py::cast(t));
  if (t.storage()->read_only()) out.attr("flags").attr("writeable") = false;
  t.storage()->expose();
  return out;
}

// What the array protocol asks for: a view if it may be one, converted if need be.
py::object array_protocol(const Tensor& t, const py::object& dtype, const py::object& copy) {
  py::object array = to_numpy(t);
  if (!dtype.is_none() && !py::dtype::from_args(dtype).equal(array.attr("dtype"))) {
    check(copy.is_none() || py::cast<bool>(copy), "asarray: a change of dtype needs a copy");
    return array.attr("astype")(dtype);
  }
  if (!copy.is_none() && py::cast<bool>(copy)) return array.attr("copy")();
  return array;
}

// The values where numpy can read them.
Tensor readable(const Tensor& t) {
  const Tensor here = to_host(detach(t));
  return here.dtype() == DType::kBF16 ? astype(here, DType::kF32) : here;
}

py::object item(const Tensor& t) {
  check(t.numel() == 1, "item: expected a single element, got shape ", to_string(t.shape()));
  return to_numpy(readable(t)).attr("item")();
}

}  // namespace

void check_on_host(const char* op, const Tensor& t) {
  check(t.device().type == DeviceType::kCPU, op, ": this tensor is on '", device_text(t.device()),
        "', whose memory the processor cannot read; use .to('cpu') first");
}

Tensor to_tensor(py::handle h, std::optional<DType> dtype, std::optional<bool> copy) {
  Tensor t;
  bool made = false;
  if (is_tensor(h)) {
    t = Tensor(h.cast<TensorImpl*>());
  } else if (py::isinstance<py::array>(h)) {
    t = from_numpy(h);
  } else {
    py::object array;
    if (py::isinstance<py::list>(h) || py::isinstance<py::tuple>(h)) {
      // Tensors inside a list count as the arrays they are.
      array = numpy().attr("array")(h);
    } else {
      array = numpy().attr("asarray")(h);
    }
    const auto kind = py::cast<std::string>(array.attr("dtype").attr("kind"));
    check<TypeError>(kind != "O" && kind != "U" && kind != "S", "asarray: cannot make a tensor of ",
                     ReprText{h});
    t = from_numpy(array);
    // Python numbers take the default dtypes; numpy scalars keep their own.
    // So do the elements of another library's array, which offers its buffer or DLPack.
    const bool typed = py::isinstance(h, numpy().attr("generic")) ||
                              PyObject_CheckBuffer(h.ptr()) || py::hasattr(h, "__array__");
    if (!dtype && !typed && t.dtype() == DType::kF64) t = astype(t, DType::kF32);
    if (!dtype && !typed && t.dtype() == DType::kC128) t = astype(t, DType::kC64);
    made = !typed;
  }
  const bool converts = dtype && *dtype != t.dtype();
  check(!(copy == false && made), "asarray: Python numbers and lists need a copy, and copy=False");
  check(!(copy == false && converts), "asarray: a change of dtype needs a copy, and copy=False");
  if (converts) return convert(t, *dtype);
  return copy == true && !made ? clone(t) : t;
}

namespace {

// For |v| < 2^53.
bool fits(long long v, DType dtype) {
  const int bits = static_cast<int>(8 * itemsize(dtype));
  if (is_unsigned(dtype)) return v >= 0 && (bits == 64 || v < (1LL << bits));
  return bits == 64 || (v >= -(1LL << (bits - 1)) && v < (1LL << (bits - 1)));
}

}  // namespace

std::optional<Tensor> to_operand(py::handle h, const Tensor& like) {
  if (is_tensor(h)) return Tensor(tensor_of(h));
  if (PyBool_Check(h.ptr())) return scalar(h.ptr() == Py_True, DType::kBool);
  if (PyLong_CheckExact(h.ptr())) {
    // A Python number is weak: it takes the dtype of the tensor it meets.
    const DType dtype = is_bool(like.dtype()) ? DType::kI64 : like.dtype();
    if (is_differentiable(dtype)) return scalar(PyLong_AsDouble(h.ptr()), dtype);
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(h.ptr(), &overflow);
    if (overflow == 0 && v > -(1LL << 53) && v < (1LL << 53)) {
      // One that the dtype cannot hold counts as int64: it would wrap into another number.
      return scalar(static_cast<double>(v), fits(v, dtype) ? dtype : DType::kI64);
    }
    const bool typed = dtype == DType::kU64   ? overflow > 0 || (overflow == 0 && v >= 0)
                       : dtype == DType::kI64 ? overflow == 0
                                              : false;
    return typed ? to_tensor(h, dtype) : to_tensor(h);
  }
  if (PyFloat_CheckExact(h.ptr())) {
    const DType dtype = is_differentiable(like.dtype()) ? like.dtype() : DType::kF32;
    return scalar(PyFloat_AS_DOUBLE(h.ptr()), dtype);
  }
  if (PyComplex_CheckExact(h.ptr())) return to_tensor(h, complex_dtype(like.dtype()));
  if (py::isinstance<py::array>(h)) return from_numpy(h);
  if (PyNumber_Check(h.ptr()) &&
      py::isinstance(h, numpy().attr("generic"))) {
    return from_numpy(numpy().attr("asarray")(h));
  }
  return std::nullopt;
}

void bind_numpy(py::module_& m, TensorClass& cls) {
  m.def("from_numpy", &from_numpy, py::arg("array"),
        "A tensor over the memory of a numpy array, without a copy: a change in one shows in the "
        "other. Negative steps and read-only arrays are fine (the tensor then refuses in-place "
        "changes). Arrays that no tensor can point into (foreign byte order, steps that are no "
        "multiple of the element) are copied.\n\n"
        "Raises TypeError for a dtype that no tensor has.\n\n>>> import numpy as np\n"
        ">>> array = np.zeros(2)\n>>> engine.from_numpy(array).fill_(1.0).dtype\nfloat64\n"
        ">>> array.tolist()\n[1.0, 1.0]");
  m.def(
      "asarray",
      [](py::handle obj, std::optional<DType> dtype, const py::object& device,
         std::optional<bool> copy) {
        const bool stays = device.is_none() && is_tensor(obj);
        const Tensor t = to_tensor(obj, dtype, copy);
        return stays ? t : to_device(t, device_from(device));
      },
      py::arg("obj"), py::pos_only(), py::kw_only(), py::arg("dtype") = py::none(),
      py::arg("device") = py::none(), py::arg("copy") = py::none(),
      "A tensor of a number, a nested list, a numpy array or a tensor. Python floats become "
      "float32, integers int64; arrays keep their dtype and share memory unless copy=True.\n\n"
      ">>> engine.asarray([[1.0, 2.0]]).shape\n(1, 2)");
  cls.def("numpy", &to_numpy,
          "A numpy array over the same memory. Raises AutogradError if gradients are required.\n\n"
          ">>> engine.ones(2).numpy().sum().item()\n2.0")
      .def("__array__", &array_protocol, py::arg("dtype") = py::none(),
           py::arg("copy") = py::none())
      .def("item", &item, "The single element as a Python number.\n\n"
                          "Raises ValueError if there are several.\n\n"
                          ">>> engine.asarray([2.5]).item()\n2.5")
      .def("tolist",
           [](const Tensor& t) {
             return py::object(to_numpy(readable(t)).attr("tolist")());
           },
           "The elements as nested Python lists.\n\n"
           ">>> engine.asarray([[1, 2]]).tolist()\n[[1, 2]]")
      .def("__complex__",
           [](const Tensor& t) {
             const std::complex<double> z = py::cast<std::complex<double>>(item(t));
             return py::reinterpret_steal<py::object>(PyComplex_FromDoubles(z.real(), z.imag()));
           })
      .def("__float__", [](const Tensor& t) { return py::float_(item(t)); })
      .def("__int__", [](const Tensor& t) {
             PyObject* whole = PyNumber_Long(item(t).ptr());
             if (whole == nullptr) throw py::error_already_set();
             return py::reinterpret_steal<py::int_>(whole);
           })
      .def("__index__",
           [](const Tensor& t) {
             check<TypeError>(is_integral(t.dtype()) && t.ndim() == 0,
                              "index: only a 0-d integer tensor is an index, this one is ",
                              describe(t));
             return py::int_(item(t));
           })
      .def("__bool__", [](const Tensor& t) {
        check(t.numel() == 1, "bool: a tensor of shape ", to_string(t.shape()),
              " is neither true nor false; use engine.any or engine.all");
        return py::cast<bool>(py::bool_(item(t)));
      });
  cls.attr("__array_priority__") = 1000;  // engine/interop.py has the rest of numpy's rules
}

}  // namespace zoo
