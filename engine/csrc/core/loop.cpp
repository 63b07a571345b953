#include "core/loop.h"

#include <cstdlib>
#include <cstring>

#include "core/backend.h"

namespace zoo {
namespace {

char* data_of(const Tensor& t, int o, Device device, LoopPlan& plan) {
  if (t.device() == device) [[likely]] return t.data<char>();
  check(t.device().type == DeviceType::kCPU && t.numel() == 1,
        "operands are on devices '", device_text(device), "' and '", device_text(t.device()),
        "'; move one with .to(device)");
  plan.constant[o] = true;
  std::memcpy(&plan.value[o], t.data(), static_cast<size_t>(itemsize(t.dtype())));
  return nullptr;
}

// Whether every operand has this shape and one memory order without gaps: then the walk is one row.
bool is_one_row(const Dims& shape, std::initializer_list<const Tensor*> operands) {
  const Dims& strides = (*operands.begin())->strides();
  for (const Tensor* t : operands) {
    if (!(t->shape() == shape) || !(t->strides() == strides)) return false;
  }
  return strides == contiguous_strides(shape);
}

}  // namespace

LoopPlan make_loop(const Dims& shape, std::initializer_list<const Tensor*> operands) {
  LoopPlan plan;
  plan.numel = shape.product();
  const Device device = (*operands.begin())->device();
  use_device(device);
  if (is_one_row(shape, operands)) {
    plan.ndim = 1;
    plan.shape[0] = plan.numel;
    for (const Tensor* t : operands) {
      const int o = plan.operands++;
      plan.data[o] = data_of(*t, o, device, plan);
      plan.strides[o][0] = itemsize(t->dtype());
    }
    return plan;
  }
  // Strides of every operand along every axis of the common shape.
  int64_t strides[kMaxOperands][kMaxDims];
  for (const Tensor* t : operands) {
    const int o = plan.operands++;
    plan.data[o] = data_of(*t, o, device, plan);
    const int shift = shape.size() - t->ndim();
    for (int i = 0; i < shape.size(); ++i) {
      const bool spread = i < shift || t->shape()[i - shift] == 1;
      strides[o][i] = spread ? 0 : t->strides()[i - shift] * itemsize(t->dtype());
    }
  }
  // Innermost first: by the output's steps, and where those tie by the inputs'.
  int order[kMaxDims];
  int n = 0;
  for (int i = shape.size() - 1; i >= 0; --i) {
    if (shape[i] != 1) order[n++] = i;
  }
  const auto inside = [&](int a, int b) {
    for (int o = 0; o < plan.operands; ++o) {
      const int64_t sa = std::abs(strides[o][a]), sb = std::abs(strides[o][b]);
      if (sa != sb && sa != 0 && sb != 0) return sa < sb;
    }
    return false;
  };
  // By insertion, which is stable and, unlike std::stable_sort, asks for no memory.
  for (int i = 1; i < n; ++i) {
    const int axis = order[i];
    int k = i;
    for (; k > 0 && inside(axis, order[k - 1]); --k) order[k] = order[k - 1];
    order[k] = axis;
  }
  for (int k = 0; k < n; ++k) {
    const int axis = order[k];
    const int last = plan.ndim - 1;
    bool merges = last >= 0;
    for (int o = 0; o < plan.operands && merges; ++o) {
      merges = strides[o][axis] == plan.strides[o][last] * plan.shape[last];
    }
    if (merges) {
      plan.shape[last] *= shape[axis];
      continue;
    }
    plan.shape[plan.ndim] = shape[axis];
    for (int o = 0; o < plan.operands; ++o) plan.strides[o][plan.ndim] = strides[o][axis];
    ++plan.ndim;
  }
  if (plan.ndim == 0) {
    plan.ndim = 1;
    plan.shape[0] = plan.numel;
    for (int o = 0; o < plan.operands; ++o) plan.strides[o][0] = 0;
  }
  return plan;
}

}  // namespace zoo
