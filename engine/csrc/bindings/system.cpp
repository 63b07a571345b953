// Threads, memory and the processor.
#include "bindings/bind.h"
#include "core/parallel.h"

namespace zoo {

void bind_system(py::module_& m) {
  m.def("get_num_threads", &num_threads, "Threads that one operation may use.");
  m.def("set_num_threads", &set_num_threads, py::arg("n"), py::call_guard<py::gil_scoped_release>(),
        "Sets the number of threads that one operation may use. Results do not depend on it.");
  m.def("cpu_isa", [] { return isa_name(cpu_isa_level()); },
        "The instruction set in use: 'baseline', 'avx2' or 'avx512'. The environment variable "
        "ZOO_CPU_ISA can lower it before the import.");
  m.def(
      "memory_stats",
      [] {
        const MemoryStats s = memory_stats();
        py::dict d;
        d["allocated_bytes"] = s.allocated_bytes;
        d["reserved_bytes"] = s.reserved_bytes;
        d["peak_allocated_bytes"] = s.peak_allocated_bytes;
        d["peak_reserved_bytes"] = s.peak_reserved_bytes;
        d["allocations"] = s.allocations;
        d["cache_hits"] = s.cache_hits;
        return d;
      },
      "What the allocator holds: bytes in use, bytes reserved, their peaks, and how many requests "
      "the cache served.");
  m.def("reset_peak_memory_stats", &reset_peak_memory_stats,
        "Peaks start again from what is in use now.");
  m.def("empty_cache", &empty_cache, "Gives memory that is kept for reuse back to the system.");
}

}  // namespace zoo
