// Threads, memory and the processor.
#include "bindings/bind.h"
#include "core/backend.h"
#include "core/parallel.h"
#include "kernels/conv_algorithm.h"

namespace zoo {
namespace {

constexpr const char* kAlgorithms[] = {"auto", "direct", "winograd"};  // as ConvAlgorithm counts

void choose_algorithm(const std::string& name) {
  for (int i = 0; i < 3; ++i) {
    if (name == kAlgorithms[i]) return set_conv_algorithm(static_cast<ConvAlgorithm>(i));
  }
  throw ValueError(concat_text("set_conv_algorithm: expected 'auto', 'direct' or 'winograd', got '",
                               name, "'"));
}

}  // namespace

void bind_system(py::module_& m) {
  m.def("get_conv_algorithm", [] { return kAlgorithms[static_cast<int>(conv_algorithm())]; },
        "How convolutions are computed: 'auto', 'direct' or 'winograd'.\n\n"
        ">>> engine.set_conv_algorithm('auto')\n>>> engine.get_conv_algorithm()\n'auto'");
  m.def("set_conv_algorithm", &choose_algorithm, py::arg("name"),
        "Chooses how convolutions are computed, for the whole process.\n\n"
        "'direct' never uses Winograd's algorithm F(4x4, 3x3), whose rounding errors reach about "
        "1e-5 of the largest output (Lavin and Gray, arXiv:1509.09308); 'winograd' uses it wherever "
        "it applies (float32, 3x3 windows, stride 1, dilation 1, one group); 'auto' where it should "
        "be faster. Raises ValueError for another name.\n\n"
        ">>> engine.set_conv_algorithm('direct')\n>>> engine.get_conv_algorithm()\n'direct'");
  m.def("get_num_threads", &num_threads, "Threads that one operation may use.\n\n"
                                         ">>> engine.get_num_threads() >= 1\nTrue");
  m.def("set_num_threads", &set_num_threads, py::arg("n"), py::call_guard<py::gil_scoped_release>(),
        "Sets the number of threads that one operation may use. Results do not depend on it.\n\n"
        "Raises ValueError for fewer than 1.\n\n"
        ">>> engine.set_num_threads(engine.get_num_threads())");
  m.def("cpu_isa", [] { return isa_name(cpu_isa_level()); },
        "The instruction set in use: 'baseline', 'avx2' or 'avx512'. The environment variable "
        "ZOO_CPU_ISA can lower it before the import.\n\n"
        ">>> engine.cpu_isa() in ('baseline', 'avx2', 'avx512')\nTrue");
  m.def(
      "memory_stats",
      [](py::handle device) {
        const Device on = device.is_none() ? Device{} : device_from(device);
        const MemoryStats s = on.type == DeviceType::kCPU ? memory_stats()
                                                          : backend().memory_stats(on.index);
        py::dict d;
        d["allocated_bytes"] = s.allocated_bytes;
        d["reserved_bytes"] = s.reserved_bytes;
        d["peak_allocated_bytes"] = s.peak_allocated_bytes;
        d["peak_reserved_bytes"] = s.peak_reserved_bytes;
        d["allocations"] = s.allocations;
        d["cache_hits"] = s.cache_hits;
        return d;
      },
      py::arg("device") = py::none(),
      "What the allocator of a device, the CPU if none is named, holds: bytes in use, bytes "
      "reserved, their peaks, and how many requests the cache served.\n\n"
      ">>> engine.memory_stats()['allocated_bytes'] >= 0\nTrue");
  m.def("reset_peak_memory_stats",
        [](py::handle device) {
          const Device on = device.is_none() ? Device{} : device_from(device);
          if (on.type == DeviceType::kCPU) return reset_peak_memory_stats();
          backend().reset_peak_memory_stats(on.index);
        },
        py::arg("device") = py::none(),
        "Peaks start again from what is in use now.\n\n"
        ">>> engine.reset_peak_memory_stats()\n>>> stats = engine.memory_stats()\n"
        ">>> stats['peak_allocated_bytes'] == stats['allocated_bytes']\nTrue");
  m.def("empty_cache",
        [](py::handle device) {
          const Device on = device.is_none() ? Device{} : device_from(device);
          if (on.type == DeviceType::kCPU) return empty_cache();
          backend().empty_cache(on.index);
        },
        py::arg("device") = py::none(),
        "Gives memory that is kept for reuse back to the system, or to the GPU that is named.\n\n"
        ">>> engine.empty_cache()");
}

}  // namespace zoo
