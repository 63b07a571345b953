#include "core/dispatch.h"

#include "core/errors.h"

namespace zoo {

void KernelTable::add(DeviceType device, IsaLevel level, Erased fn) {
  const int d = static_cast<int>(device);
  if (device == DeviceType::kCPU && level > cpu_isa_level()) return;
  if (fn_[d] != nullptr && level_[d] >= level) return;
  fn_[d] = fn;
  level_[d] = level;
}

void KernelTable::missing(DeviceType device) const {
  throw NotImplemented(
      concat_text(name_, ": no kernel for device '", device_type_name(device), "' in this build"));
}

}  // namespace zoo
