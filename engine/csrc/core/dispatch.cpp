#include "core/dispatch.h"

#include "core/errors.h"

namespace zoo {
namespace {

constinit KernelTable* g_first = nullptr;

}  // namespace

KernelTable* KernelTable::first() { return g_first; }

void KernelTable::add(DeviceType device, IsaLevel level, Erased fn, const char* variable) {
  if (variable_ == nullptr) {
    variable_ = variable;
    next_ = g_first;
    g_first = this;
  }
  const int d = static_cast<int>(device);
  if (device == DeviceType::kCPU && level > cpu_isa_level()) return;
  if (fn_[d] != nullptr && level_[d] >= level) return;
  fn_[d] = fn;
  level_[d] = level;
}

void KernelTable::missing(DeviceType device) const {
  throw NotImplemented(concat_text(name_, ": no kernel for device '", device_type_name(device),
                                   "' in this build; move the tensors with .to('cpu') first"));
}

}  // namespace zoo
