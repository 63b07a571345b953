// dtype objects: engine.float32 and the others.
#include "bindings/bind.h"

namespace zoo {
namespace {

// Never freed: C++ code may ask for a dtype while the interpreter goes down.
PyObject* g_dtypes[kNumDTypes] = {};

}  // namespace

py::object dtype_object(DType t) {
  return py::reinterpret_borrow<py::object>(g_dtypes[static_cast<int>(t)]);
}

DType dtype_from(py::handle h) {
  if (py::isinstance<PyDType>(h)) return h.cast<PyDType&>().value;
  std::string name;
  if (py::isinstance<py::str>(h)) {
    name = py::cast<std::string>(h);
  } else {
    try {
      name = py::cast<std::string>(py::module_::import("numpy").attr("dtype")(h).attr("name"));
    } catch (py::error_already_set&) {
      name = py::cast<std::string>(py::repr(h));
    }
  }
  for (int i = 0; i < kNumDTypes; ++i) {
    if (name == dtype_name(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  throw py::type_error("no such dtype: " + name +
                       "; expected one of engine.bool, engine.int8 to engine.int64, engine.uint8 "
                       "to engine.uint64, engine.float16, engine.bfloat16, engine.float32, "
                       "engine.float64, engine.complex64, engine.complex128");
}

void bind_dtypes(py::module_& m) {
  py::class_<PyDType>(m, "dtype",
      "The type of a tensor's elements, such as engine.float32.\n\n"
      "It equals its name. numpy's dtypes and names are taken wherever one is expected.\n\n"
      ">>> engine.float32.itemsize, engine.float32 == 'float32'\n(4, True)")
      .def_property_readonly(
          "name", [](const PyDType& d) { return dtype_name(d.value); }, "Its name, 'float32'.")
      .def_property_readonly(
          "itemsize", [](const PyDType& d) { return itemsize(d.value); }, "Bytes an element takes.")
      .def_property_readonly(
          "is_floating_point", [](const PyDType& d) { return is_floating(d.value); },
          "Whether it is one of the float dtypes.")
      .def_property_readonly(
          "is_complex", [](const PyDType& d) { return is_complex(d.value); },
          "Whether it is complex64 or complex128.")
      .def("__repr__", [](const PyDType& d) { return dtype_name(d.value); })
      .def("__eq__",
           [](const PyDType& d, py::handle other) {
             if (py::isinstance<PyDType>(other)) return d.value == other.cast<PyDType&>().value;
             return py::isinstance<py::str>(other) &&
                    py::cast<std::string>(other) == dtype_name(d.value);
           })
      .def("__hash__", [](const PyDType& d) { return static_cast<int>(d.value); })
      .def("__reduce__", [](const PyDType& d) {
        const py::object make = py::module_::import("engine._C").attr("dtype_named");
        return py::tuple(py::make_tuple(make, py::make_tuple(dtype_name(d.value))));
      });
  for (int i = 0; i < kNumDTypes; ++i) {
    py::object o = py::cast(PyDType{static_cast<DType>(i)});
    m.attr(dtype_name(static_cast<DType>(i))) = o;
    g_dtypes[i] = o.release().ptr();
  }
  m.def("dtype_named", [](const std::string& name) { return dtype_from(py::str(name)); },
        py::arg("name"), "The dtype of that name: dtype_named('float32') is engine.float32.\n\n"
                         "Raises TypeError for a name of none.\n\n"
                         ">>> engine.dtype_named('float32')\nfloat32");
  m.def("promote_types", &promote, py::arg("a"), py::arg("b"),
        "The dtype of an operation between tensors of dtypes a and b.\n\n"
        ">>> engine.promote_types(engine.int8, engine.uint8)\nint16");
}

}  // namespace zoo
