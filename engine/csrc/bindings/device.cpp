// Device objects: what t.device is and what device= takes.
#include "bindings/bind.h"
#include "core/backend.h"

namespace zoo {

namespace {

// "cpu", "cpu:0", "cuda", "cuda:1"; nothing for another text.
std::optional<Device> parse_device(const std::string& name) {
  if (name == "cpu" || name == "cpu:0") return Device{};
  if (name == "cuda") return Device{DeviceType::kCUDA, 0};
  if (name.rfind("cuda:", 0) != 0 || name.size() < 6 || name.size() > 7) return std::nullopt;
  int index = 0;
  for (const char c : name.substr(5)) {
    if (c < '0' || c > '9') return std::nullopt;
    index = 10 * index + (c - '0');
  }
  return Device{DeviceType::kCUDA, static_cast<int8_t>(index)};
}

}  // namespace

bool is_device_name(const std::string& name) { return parse_device(name).has_value(); }

Device device_from(py::handle h) {
  if (h.is_none()) return default_device();
  if (py::isinstance<PyDevice>(h)) return h.cast<PyDevice&>().value;
  const auto name = py::cast<std::string>(py::str(h));
  const std::optional<Device> device = parse_device(name);
  check(device.has_value(), "device '", name, "' is no device; expected 'cpu', 'cuda' or 'cuda:1'");
  check_device(*device);
  return *device;
}

void bind_device(py::module_& m) {
  py::class_<PyDevice>(m, "Device",
                       "Where a tensor's elements live: 'cpu', 'cuda' (the first GPU) or 'cuda:1'. It "
                       "equals its name. Raises NotImplementedError where no GPU can be used, "
                       "ValueError for one that is not there.\n\n"
                       ">>> engine.zeros(2).device == 'cpu'\nTrue")
      .def(py::init([](py::handle name) { return PyDevice{device_from(name)}; }), py::arg("name"))
      .def_property_readonly(
          "type", [](const PyDevice& d) { return device_type_name(d.value.type); },
          "'cpu' or 'cuda'.")
      .def_property_readonly("index", [](const PyDevice& d) { return static_cast<int>(d.value.index); },
                             "Which of the devices of that type.")
      .def("__str__", [](const PyDevice& d) { return device_text(d.value); })
      .def("__repr__",
           [](const PyDevice& d) { return concat_text("Device('", device_text(d.value), "')"); })
      .def("__eq__",
           [](const PyDevice& d, py::handle other) {
             if (py::isinstance<PyDevice>(other)) return d.value == other.cast<PyDevice&>().value;
             return py::isinstance<py::str>(other) &&
                    parse_device(py::cast<std::string>(other)) == std::optional(d.value);
           })
      .def("__hash__", [](const PyDevice& d) { return py::hash(py::str(device_text(d.value))); })
      .def("__reduce__", [](const PyDevice& d) {
        const py::object make = py::module_::import("engine._C").attr("Device");
        return py::tuple(py::make_tuple(make, py::make_tuple(device_text(d.value))));
      });
  m.def("_default_device", [] { return PyDevice{default_device()}; },
        "Where this thread's new tensors go.");
  m.def("_set_default_device", [](py::handle device) { set_default_device(device_from(device)); },
        py::arg("device"), "Where this thread's new tensors go from here on.");
}

}  // namespace zoo
