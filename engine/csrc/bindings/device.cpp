// Device objects: what t.device is and what device= takes.
#include "bindings/bind.h"

namespace zoo {

Device device_from(py::handle h) {
  if (h.is_none()) return {};
  if (py::isinstance<PyDevice>(h)) return h.cast<PyDevice&>().value;
  const auto name = py::cast<std::string>(py::str(h));
  check<NotImplemented>(name == "cpu" || name == "cpu:0", "device '", name,
                        "' is not in this build; only 'cpu' is");
  return {};
}

void bind_device(py::module_& m) {
  py::class_<PyDevice>(m, "Device",
                       "Where a tensor's elements live. It equals its name.\n\n"
                       ">>> engine.zeros(2).device == 'cpu'\nTrue")
      .def(py::init([](py::handle name) { return PyDevice{device_from(name)}; }), py::arg("name"))
      .def_property_readonly(
          "type", [](const PyDevice& d) { return device_type_name(d.value.type); },
          "'cpu' or 'cuda'.")
      .def_property_readonly("index", [](const PyDevice& d) { return static_cast<int>(d.value.index); },
                             "Which of the devices of that type.")
      .def("__str__", [](const PyDevice& d) { return device_type_name(d.value.type); })
      .def("__repr__",
           [](const PyDevice& d) {
             return concat_text("Device('", device_type_name(d.value.type), "')");
           })
      .def("__eq__",
           [](const PyDevice& d, py::handle other) {
             if (py::isinstance<PyDevice>(other)) return d.value == other.cast<PyDevice&>().value;
             return py::isinstance<py::str>(other) &&
                    py::cast<std::string>(other) == device_type_name(d.value.type);
           })
      .def("__hash__",
           [](const PyDevice& d) { return py::hash(py::str(device_type_name(d.value.type))); })
      .def("__reduce__", [](const PyDevice& d) {
        const py::object make = py::module_::import("engine._C").attr("Device");
        return py::tuple(py::make_tuple(make, py::make_tuple(device_type_name(d.value.type))));
      });
}

}  // namespace zoo
