// One table per kernel: a function pointer per device. Kernels register themselves when the
// library loads; on the CPU the best instruction set the machine has wins.
#pragma once

#include <typeinfo>

#include "core/device.h"

namespace zoo {

class KernelTable {
 public:
  using Erased = void (*)();

  constexpr KernelTable(const char* name, const std::type_info& signature)
      : name_(name), signature_(&signature) {}
  const char* name() const { return name_; }
  bool has(DeviceType device) const { return fn_[static_cast<int>(device)] != nullptr; }

  // Every table that has a kernel, in no order: how a library of kernels for another device, and
  // the page of what there is for which device, find them.
  static KernelTable* first();
  KernelTable* next() const { return next_; }
  const char* variable() const { return variable_; }  // "gemm_kernel"
  const std::type_info& signature() const { return *signature_; }
  // Keeps the entry only if this machine can run `level` and nothing better is registered.
  void add(DeviceType device, IsaLevel level, Erased fn, const char* variable);

 protected:
  [[noreturn]] void missing(DeviceType device) const;

  const char* name_;
  const std::type_info* signature_;
  Erased fn_[kNumDeviceTypes] = {};
  IsaLevel level_[kNumDeviceTypes] = {};
  const char* variable_ = nullptr;
  KernelTable* next_ = nullptr;
};

template <class Signature>
class Kernel;

template <class R, class... Args>
class Kernel<R(Args...)> : public KernelTable {
 public:
  using Fn = R (*)(Args...);
  constexpr explicit Kernel(const char* name) : KernelTable(name, typeid(R(Args...))) {}

  [[gnu::always_inline]] bool register_kernel(DeviceType device, IsaLevel level, Fn fn,
                                              const char* variable) {
    add(device, level, reinterpret_cast<Erased>(fn), variable);
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
                                   static_cast<::zoo::IsaLevel>(ZOO_ISA_LEVEL), fn, #table)
