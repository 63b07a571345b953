// The library of another device's kernels, for engine/cuda.py and the tests.
#include "bindings/bind.h"
#include "core/backend.h"

namespace zoo {
namespace {

py::dict describe_device(int index) {
  check_device({DeviceType::kCUDA, static_cast<int8_t>(index)});
  DeviceInfo info;
  backend().describe(index, &info);
  py::dict d;
  d["name"] = info.name;
  d["total_bytes"] = info.total_bytes;
  d["free_bytes"] = info.free_bytes;
  d["capability"] = py::make_tuple(info.major, info.minor);
  d["multiprocessors"] = info.multiprocessors;
  return d;
}

py::object backend_info() {
  if (!has_backend()) return py::none();
  py::dict d;
  d["name"] = backend().name;
  d["runtime_version"] = backend().runtime_version;
  d["driver_version"] = backend().driver_version;
  d["device_count"] = backend().device_count();
  return d;
}

void synchronize(py::handle device) {
  const Device d = device_from(device);
  py::gil_scoped_release release;
  if (d.type != DeviceType::kCPU) backend().synchronize(d.index);
}

py::list kernel_tables() {
  py::list out;
  for (const KernelTable* t = KernelTable::first(); t != nullptr; t = t->next()) {
    out.append(py::make_tuple(t->variable(), t->name(), t->has(DeviceType::kCPU),
                              t->has(DeviceType::kCUDA)));
  }
  return out;
}

}  // namespace

void bind_backend(py::module_& m) {
  m.def("_load_backend", [](const std::string& path) { load_backend(path.c_str()); },
        py::arg("path"), "Opens a library of kernels for GPUs; a process can have one.");
  m.def("_load_backend_if_possible",
        [](const std::string& path) { load_backend_if_possible(path.c_str()); }, py::arg("path"),
        "The same if the file is there and the machine has a driver; no error otherwise.");
  m.def("_backend_absence", &backend_absence,
        "Why no library of kernels for GPUs is loaded; empty if one is.");
  m.def("_backend_info", &backend_info,
        "Name, versions (13000 is 13.0) and devices of the library for GPUs, or None.");
  m.def("_device_info", &describe_device, py::arg("index"),
        "Name, memory in bytes, compute capability and multiprocessors of a GPU.");
  m.def("_synchronize", &synchronize, py::arg("device") = py::none(),
        "Waits for all work that was given to the device.");
  m.def("_kernel_tables", &kernel_tables,
        "(variable, name, has a CPU kernel, has a GPU kernel) of every kernel table.");
}

}  // namespace zoo
