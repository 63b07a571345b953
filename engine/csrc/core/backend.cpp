#include "core/backend.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "core/errors.h"

namespace zoo {
namespace {

const DeviceBackend* g_backend = nullptr;

std::string& absence() {
  static std::string* text = new std::string("no library for GPUs was loaded");
  return *text;
}

KernelTable* table_named(const char* variable) {
  for (KernelTable* t = KernelTable::first(); t != nullptr; t = t->next()) {
    if (std::strcmp(t->variable(), variable) == 0) return t;
  }
  return nullptr;
}

}  // namespace

void load_backend(const char* path) {
  check(g_backend == nullptr, "load_backend: '", path, "': a library for GPUs is loaded already (",
        g_backend ? g_backend->name : "", "); a process can have one");
  // Never closed: tensors of the device may live until the process ends.
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  check(library != nullptr, "load_backend: '", path, "': ", library ? "" : dlerror());
  const auto entry = reinterpret_cast<BackendEntry>(dlsym(library, ZOO_BACKEND_SYMBOL));
  check(entry != nullptr, "load_backend: '", path, "' has no symbol " ZOO_BACKEND_SYMBOL
        ": it is no library of kernels");
  const DeviceBackend* found = entry(kBackendVersion);
  check(found != nullptr && found->version == kBackendVersion, "load_backend: '", path,
        "' was built with another version of the engine; build both again");
  // All are looked at before one is taken: a library that does not fit changes nothing.
  for (const bool take : {false, true}) {
    for (size_t i = 0; i < found->kernel_count; ++i) {
      const KernelEntry& kernel = found->kernels[i];
      KernelTable* table = table_named(kernel.variable);
      check(table != nullptr && std::strcmp(table->signature().name(), kernel.signature) == 0,
            "load_backend: '", path, "': its kernel for ", kernel.variable,
            " does not fit this build of the engine; build both again");
      if (take) table->add(DeviceType::kCUDA, IsaLevel::kBaseline, kernel.fn, kernel.variable);
    }
  }
  g_backend = found;
}

bool has_backend() { return g_backend != nullptr; }

const DeviceBackend& backend() {
  check<NotImplemented>(g_backend != nullptr, "device 'cuda' is not available: ", absence());
  return *g_backend;
}

const char* backend_absence() { return g_backend != nullptr ? "" : absence().c_str(); }

void load_backend_if_possible(const char* path) noexcept {
  try {
    if (access(path, R_OK) != 0) {
      absence() = "this build of the engine has no kernels for GPUs; build it with "
                  "pip install . --config-settings=cmake.define.ZOO_CUDA=ON";
      return;
    }
    if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) == nullptr) {
      absence() = "this machine has no NVIDIA driver (libcuda.so.1 was not found)";
      return;
    }
    load_backend(path);
  } catch (const std::exception& error) {
    absence() = error.what();
  }
}

void check_device(Device device) {
  if (device.type == DeviceType::kCPU) return;
  const int count = backend().device_count();
  check(device.index >= 0 && device.index < count, "device '", device_text(device),
        "' is not there: this machine has ", count, count == 1 ? " GPU, 'cuda:0'" : " GPUs",
        count > 1 ? concat_text(", 'cuda:0' to 'cuda:", count - 1, "'") : std::string());
}

void use_other_device(Device device) { backend().use_device(device.index); }

void copy_bytes(void* to, Device to_device, const void* from, Device from_device, size_t bytes) {
  if (bytes == 0) return;
  const auto index = [](Device d) { return d.type == DeviceType::kCPU ? -1 : int{d.index}; };
  if (index(to_device) < 0 && index(from_device) < 0) {
    std::memcpy(to, from, bytes);
  } else {
    backend().copy(to, index(to_device), from, index(from_device), bytes);
  }
}

}  // namespace zoo
