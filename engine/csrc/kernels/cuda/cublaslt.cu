#include "kernels/cuda/cublaslt.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "core/errors.h"
#include "kernels/cuda/cublaslt_api.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/runtime.h"

namespace zoo::cuda {
namespace {

using namespace cublaslt;

constexpr size_t kWorkspace = size_t{32} << 20;  // what NVIDIA suggests for Hopper
std::atomic<bool> g_tf32{false};

void check_status(Status status, const char* what) {
  zoo::check<std::runtime_error>(status == 0, "cuBLASLt: ", what, ": error ", status,
                                 "; CUBLASLT_LOG_LEVEL=2 makes it say more");
}

DataType data_type(DType t) {
  switch (t) {
    case DType::kF64: return kReal64;
    case DType::kF16: return kReal16;
    case DType::kBF16: return kBReal16;
    default: return kReal32;
  }
}

struct CublasLt {
  Library library{{"cuBLASLt", "libcublasLt.so.13", "nvidia-cublas>=13,<14", "cublasLtGetVersion",
                   130000, 140000}};
  Functions f;

  CublasLt() {
    if (!library.open()) return;
    library.find(f.create, "cublasLtCreate");
    library.find(f.product_create, "cublasLtMatmulDescCreate");
    library.find(f.product_destroy, "cublasLtMatmulDescDestroy");
    library.find(f.product_set, "cublasLtMatmulDescSetAttribute");
    library.find(f.layout_create, "cublasLtMatrixLayoutCreate");
    library.find(f.layout_destroy, "cublasLtMatrixLayoutDestroy");
    library.find(f.layout_set, "cublasLtMatrixLayoutSetAttribute");
    library.find(f.preference_create, "cublasLtMatmulPreferenceCreate");
    library.find(f.preference_destroy, "cublasLtMatmulPreferenceDestroy");
    library.find(f.preference_set, "cublasLtMatmulPreferenceSetAttribute");
    library.find(f.choose, "cublasLtMatmulAlgoGetHeuristic");
    library.find(f.multiply, "cublasLtMatmul");
  }
};

CublasLt& lt() {
  static auto* opened = new CublasLt;
  return *opened;
}

// A matrix as cuBLASLt sees it: column-major, perhaps read transposed.
struct Operand {
  uint64_t rows, columns;
  int64_t stride;
  Operation operation;
  auto key() const { return std::tie(rows, columns, stride, operation); }
};

// A row-major matrix is a column-major one transposed, so C^T = B^T A^T is asked for: `rows` x
// `columns` is the operand of that product, whose element (i, j) lies i * down + j * across behind
// the first.
std::optional<Operand> as_operand(int64_t rows, int64_t columns, int64_t down, int64_t across) {
  const auto leading = [](int64_t stride, int64_t size, int64_t others) {
    return others == 1 && stride < size ? size : stride;  // a single column has no stride
  };
  if (down == 1 || rows == 1) {
    const int64_t stride = leading(across, rows, columns);
    if (stride >= rows && stride > 0) {
      return Operand{static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), stride, kPlain};
    }
  }
  if (across == 1 || columns == 1) {
    const int64_t stride = leading(down, columns, rows);
    if (stride >= columns && stride > 0) {
      return Operand{static_cast<uint64_t>(columns), static_cast<uint64_t>(rows), stride,
                     kTransposed};
    }
  }
  return std::nullopt;
}

struct Problem {
  int device;
  DataType dtype;  // of the matrices; sums and scalars are float32 but for float64
  ComputeType compute;
  Operand a, b, c;
  int64_t batch, a_batch, b_batch, c_batch;
  Epilogue epilogue;
  uint32_t alignment;  // of all addresses

  auto key() const {
    return std::tuple_cat(std::tie(device, dtype, compute), a.key(), b.key(), c.key(),
                          std::tie(batch, a_batch, b_batch, c_batch, epilogue, alignment));
  }
  friend bool operator<(const Problem& x, const Problem& y) { return x.key() < y.key(); }
};

// What is made once for a problem; `choice` is empty where cuBLASLt knows no way.
struct Plan {
  Descriptor product = nullptr, a = nullptr, b = nullptr, c = nullptr;
  std::optional<Choice> choice;
};

Descriptor make_layout(DataType dtype, const Operand& o, int64_t batch, int64_t stride) {
  Functions& f = lt().f;
  Descriptor layout = nullptr;
  check_status(f.layout_create(&layout, dtype, o.rows, o.columns, o.stride), "a matrix's layout");
  if (batch > 1) {
    const int32_t count = static_cast<int32_t>(batch);
    check_status(f.layout_set(layout, kBatchCount, &count, sizeof count), "a batch");
    check_status(f.layout_set(layout, kBatchStride, &stride, sizeof stride), "a batch");
  }
  return layout;
}

Plan make_plan(Handle handle, const Problem& p) {
  Functions& f = lt().f;
  Plan plan;
  check_status(f.product_create(&plan.product, p.compute, p.dtype == kReal64 ? kReal64 : kReal32),
               "a product");
  check_status(f.product_set(plan.product, kTransA, &p.a.operation, sizeof(int)), "an operand");
  check_status(f.product_set(plan.product, kTransB, &p.b.operation, sizeof(int)), "an operand");
  check_status(f.product_set(plan.product, kEpilogueOf, &p.epilogue, sizeof(int)), "an epilogue");
  plan.a = make_layout(p.dtype, p.a, p.batch, p.a_batch);
  plan.b = make_layout(p.dtype, p.b, p.batch, p.b_batch);
  plan.c = make_layout(p.dtype, p.c, p.batch, p.c_batch);
  Descriptor preference = nullptr;
  check_status(f.preference_create(&preference), "a preference");
  check_status(f.preference_set(preference, kMostWorkspace, &kWorkspace, sizeof kWorkspace),
               "a preference");
  for (PreferenceAttribute which : {kAlignmentA, kAlignmentB, kAlignmentC, kAlignmentD}) {
    check_status(f.preference_set(preference, which, &p.alignment, sizeof p.alignment),
                 "a preference");
  }
  Choice choice{};
  int found = 0;
  const Status status = f.choose(handle, plan.product, plan.a, plan.b, plan.c, plan.c, preference,
                                 1, &choice, &found);
  f.preference_destroy(preference);
  if (status == 0 && found > 0 && choice.state == 0) plan.choice = choice;
  return plan;
}

// The largest power of two up to 16 that all addresses are multiples of.
uint32_t alignment_of(std::initializer_list<const void*> pointers) {
  uintptr_t all = 16;
  for (const void* p : pointers) all |= reinterpret_cast<uintptr_t>(p);
  return static_cast<uint32_t>(all & (~all + 1));
}

// One for each device: cuBLASLt ties its handles to it. Plans stay; networks have few shapes.
struct Device {
  std::mutex mutex;
  Handle handle = nullptr;
  std::map<Problem, Plan> plans;
};

Device& device_state(int index) {
  static auto* devices = new Device[kMostDevices];
  return devices[index];
}

}  // namespace

void allow_tf32(bool allow) { g_tf32.store(allow, std::memory_order_relaxed); }
bool tf32_allowed() { return g_tf32.load(std::memory_order_relaxed); }

bool multiply_by_cublaslt(DType dtype, const GemmArgs& g) {
  if (!lt().library.usable()) return false;
  if (g.m == 0 || g.n == 0 || g.k == 0 || g.batch == 0) return false;
  // Of C^T = B^T A^T, column-major.
  const auto a = as_operand(g.n, g.k, g.b_col, g.b_row);
  const auto b = as_operand(g.k, g.m, g.a_col, g.a_row);
  const auto c = as_operand(g.n, g.m, 1, g.c_row);
  if (!a || !b || !c || c->operation != kPlain || g.batch > INT32_MAX) return false;
  const bool wide = dtype == DType::kF64;
  Problem p{};
  p.device = current_device();
  p.dtype = data_type(dtype);
  p.compute = wide                                              ? kCompute64
              : dtype == DType::kF32 && tf32_allowed() ? kCompute32Tf32
                                                       : kCompute32;
  p.a = *a;
  p.b = *b;
  p.c = *c;
  p.batch = g.batch;
  if (g.batch > 1) {
    p.a_batch = g.b_batch;
    p.b_batch = g.a_batch;
    p.c_batch = g.c_batch;
  }
  p.epilogue = g.bias != nullptr ? (g.relu ? kReluBias : kBias) : g.relu ? kRelu : kNone;
  p.alignment = alignment_of({g.a, g.b, g.c, g.bias});

  Device& device = device_state(p.device);
  std::lock_guard lock(device.mutex);  // a plan's product holds the address of the bias
  Functions& f = lt().f;
  if (device.handle == nullptr) check_status(f.create(&device.handle), "starting");
  auto found = device.plans.find(p);
  if (found == device.plans.end()) {
    found = device.plans.emplace(p, make_plan(device.handle, p)).first;
  }
  const Plan& plan = found->second;
  if (!plan.choice) return false;
  if (g.bias != nullptr) {
    check_status(f.product_set(plan.product, kBiasPointer, &g.bias, sizeof g.bias), "a bias");
  }
  const DeviceScratch workspace(plan.choice->workspace);
  const float one32 = 1, beta32 = g.accumulate ? 1 : 0;
  const double one64 = 1, beta64 = g.accumulate ? 1 : 0;
  check_status(f.multiply(device.handle, plan.product,
                          wide ? static_cast<const void*>(&one64) : &one32, g.b, plan.a, g.a,
                          plan.b, wide ? static_cast<const void*>(&beta64) : &beta32, g.c, plan.c,
                          g.c, plan.c, &plan.choice->algorithm, workspace.as<void>(),
                          plan.choice->workspace, stream()),
               "a product");
  return true;
}

}  // namespace zoo::cuda
