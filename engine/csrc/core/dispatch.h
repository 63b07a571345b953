// One table per kernel: a function pointer per device. Kernels register themselves when the
// library loads; on the CPU the best instruction set the machine has wins.
#pragma once

#include "core/device.h"

namespace zoo {

class KernelTable {
 public:
  constexpr explicit KernelTable(const char* name) : name_(name) {}
  const char* name() const { return name_; }
  bool has(DeviceType device) const { return fn_[static_cast<int>(device)] != nullptr; }

 protected:
  using Erased = void (*)();
  // Keeps the entry only if this machine can run `level` and nothing better is registered.
  void add(DeviceType device, IsaLevel level, Erased fn);
  [[noreturn]] void missing(DeviceType device) const;

  const char* name_;
  Erased fn_[kNumDeviceTypes] = {};
  IsaLevel level_[kNumDeviceTypes] = {};
};

template <class Signature>
class Kernel;

template <class R, class... Args>
class Kernel<R(Args...)> : public KernelTable {
 public:
  using Fn = R (*)(Args...);
  using KernelTable::KernelTable;

  [[gnu::always_inline]] bool register_kernel(DeviceType device, IsaLevel level, Fn fn) {
    add(device, level, reinterpret_cast<Erased>(fn));
    return true;
  }

  // A null entry is the stub: it says which kernel this build lacks.
  [[gnu::always_inline]] Fn on(DeviceType device) const {
    const Erased fn = fn_[static_cast<int>(device)];
    if (fn == nullptr) [[unlikely]] missing(device);
    return reinterpret_cast<Fn>(fn);
  }
};

}  // namespace zoo

// In kernels/cpu/*.cpp, at namespace zoo scope: ZOO_REGISTER_CPU(table, function);
#define ZOO_REGISTER_CPU(table, fn)                          \
  [[maybe_unused]] static const bool registered_##table =    \
      ::zoo::table.register_kernel(::zoo::DeviceType::kCPU,  \
                                   static_cast<::zoo::IsaLevel>(ZOO_ISA_LEVEL), fn)
