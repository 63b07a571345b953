#include "kernels/cuda/cudnn.h"

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "core/errors.h"
#include "kernels/cuda/columns.h"
#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/cudnn_api.h"
#include "kernels/cuda/elements.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/team.h"

namespace zoo::cuda {
namespace {

using namespace cudnn;

constexpr size_t kMostWorkspace = size_t{1} << 30;
constexpr int kMostChoices = 8;

struct CuDnn {
  Library library{{"cuDNN", "libcudnn.so.9", "nvidia-cudnn-cu13>=9.10,<10", "cudnnGetVersion",
                   91000, 100000}};
  Functions f;

  CuDnn() {
    if (!library.open()) return;
    library.find(f.create, "cudnnCreate");
    library.find(f.set_stream, "cudnnSetStream");
    library.find(f.error_text, "cudnnGetErrorString");
    library.find(f.tensor_create, "cudnnCreateTensorDescriptor");
    library.find(f.tensor_set, "cudnnSetTensor4dDescriptorEx");
    library.find(f.filter_create, "cudnnCreateFilterDescriptor");
    library.find(f.filter_set, "cudnnSetFilter4dDescriptor");
    library.find(f.convolution_create, "cudnnCreateConvolutionDescriptor");
    library.find(f.convolution_set, "cudnnSetConvolution2dDescriptor");
    library.find(f.convolution_groups, "cudnnSetConvolutionGroupCount");
    library.find(f.convolution_math, "cudnnSetConvolutionMathType");
    library.find(f.forward_choices, "cudnnGetConvolutionForwardAlgorithm_v7");
    library.find(f.data_choices, "cudnnGetConvolutionBackwardDataAlgorithm_v7");
    library.find(f.filter_choices, "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
    library.find(f.forward, "cudnnConvolutionForward");
    library.find(f.backward_data, "cudnnConvolutionBackwardData");
    library.find(f.backward_filter, "cudnnConvolutionBackwardFilter");
  }
};

CuDnn& dnn() {
  // cuDNN opens cuBLASLt by name: it has to be open by then, since the loader does not look into
  // wheels.
  static auto* opened = [] {
    Library blas{{"cuBLASLt", "libcublasLt.so.13", "nvidia-cublas>=13,<14", "cublasLtGetVersion",
                  130000, 140000}};
    blas.open();
    return new CuDnn;
  }();
  return *opened;
}

void check_status(Status status, const char* what) {
  zoo::check<std::runtime_error>(status == 0, "cuDNN: ", what, ": ",
                                 status == 0 ? "" : dnn().f.error_text(status), " (error ", status,
                                 "); CUDNN_LOGLEVEL_DBG=2 makes it say more");
}

enum class Pass { kForward, kInputGradient, kWeightGradient };

struct Problem {
  int device;
  Pass pass;
  DType dtype;
  bool tf32;
  std::array<int, 16> sizes;

  auto key() const { return std::tie(device, pass, dtype, tf32, sizes); }
  friend bool operator<(const Problem& a, const Problem& b) { return a.key() < b.key(); }
};

struct Plan {
  Descriptor x = nullptr, w = nullptr, y = nullptr, convolution = nullptr;
  std::optional<Performance> choice;
};

struct Device {
  std::mutex mutex;
  Handle handle = nullptr;
  std::map<Problem, Plan> plans;
};

Device& device_state(int index) {
  static auto* devices = new Device[kMostDevices];
  return devices[index];
}

// The sizes as cuDNN's ints, or none where one is too large.
std::optional<std::array<int, 16>> int_sizes(const Conv2dShape& s) {
  const int64_t wide[16] = {s.n,        s.c,        s.h,     s.w,     s.k,          s.kh,
                            s.kw,       s.oh,       s.ow,    s.pad_h, s.pad_w,      s.stride_h,
                            s.stride_w, s.dilation_h, s.dilation_w, s.groups};
  std::array<int, 16> sizes{};
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (wide[i] > INT32_MAX) return std::nullopt;
    sizes[i] = static_cast<int>(wide[i]);
  }
  if (s.n * s.h * s.w * s.c > INT32_MAX || s.n * s.oh * s.ow * s.k > INT32_MAX) return std::nullopt;
  return sizes;
}

Descriptor pictures(DataType dtype, int64_t n, int64_t c, int64_t h, int64_t w) {
  Functions& f = dnn().f;
  Descriptor d = nullptr;
  const auto i = [](int64_t v) { return static_cast<int>(v); };
  check_status(f.tensor_create(&d), "a tensor");
  check_status(f.tensor_set(d, dtype, i(n), i(c), i(h), i(w), i(h * w * c), 1, i(w * c), i(c)),
               "a tensor");
  return d;
}

// The first algorithm that gives the same bits from run to run.
std::optional<Performance> choose(Handle handle, Pass pass, const Plan& p) {
  Functions& f = dnn().f;
  Performance list[kMostChoices] = {};
  int found = 0;
  Status status = 0;
  switch (pass) {
    case Pass::kForward:
      status = f.forward_choices(handle, p.x, p.w, p.convolution, p.y, kMostChoices, &found, list);
      break;
    case Pass::kInputGradient:
      status = f.data_choices(handle, p.w, p.y, p.convolution, p.x, kMostChoices, &found, list);
      break;
    case Pass::kWeightGradient:
      status = f.filter_choices(handle, p.x, p.y, p.convolution, p.w, kMostChoices, &found, list);
      break;
  }
  if (status != 0) return std::nullopt;
  for (int i = 0; i < found; ++i) {
    if (list[i].status == 0 && list[i].deterministic == 1 && list[i].memory <= kMostWorkspace) {
      return list[i];
    }
  }
  return std::nullopt;
}

DataType type_of(DType dtype) {
  switch (dtype) {
    case DType::kF64: return kDouble;
    case DType::kF16: return kHalf;
    case DType::kBF16: return kBFloat16;
    default: return kFloat;
  }
}

Plan make_plan(Handle handle, const Problem& problem, const Conv2dShape& s) {
  Functions& f = dnn().f;
  const DataType dtype = type_of(problem.dtype);
  const bool is_float = dtype == kFloat;
  const auto i = [](int64_t v) { return static_cast<int>(v); };
  Plan p;
  p.x = pictures(dtype, s.n, s.c, s.h, s.w);
  p.y = pictures(dtype, s.n, s.k, s.oh, s.ow);
  check_status(f.filter_create(&p.w), "a filter");
  check_status(f.filter_set(p.w, dtype, kNHWC, i(s.k), i(s.c / s.groups), i(s.kh), i(s.kw)),
               "a filter");
  check_status(f.convolution_create(&p.convolution), "a convolution");
  check_status(f.convolution_set(p.convolution, i(s.pad_h), i(s.pad_w), i(s.stride_h),
                                 i(s.stride_w), i(s.dilation_h), i(s.dilation_w),
                                 kCrossCorrelation, dtype == kDouble ? kDouble : kFloat),
               "a convolution");
  check_status(f.convolution_groups(p.convolution, i(s.groups)), "groups");
  check_status(f.convolution_math(p.convolution, is_float && !problem.tf32 ? kExactMath : kDefaultMath),
               "its arithmetic");
  p.choice = choose(handle, problem.pass, p);
  return p;
}

// Calls run(handle, plan, workspace) for the convolution; false where there is no plan.
template <class F>
bool with_plan(DType dtype, const Conv2dShape& s, Pass pass, F&& run) {
  if (!dnn().library.usable()) return false;
  const auto sizes = int_sizes(s);
  if (!sizes || s.n * s.h * s.w * s.c == 0 || s.n * s.oh * s.ow * s.k == 0) {
    return false;
  }
  const Problem problem{current_device(), pass, dtype, tf32_allowed(), *sizes};
  Device& device = device_state(problem.device);
  std::lock_guard lock(device.mutex);
  Functions& f = dnn().f;
  if (device.handle == nullptr) check_status(f.create(&device.handle), "starting");
  auto found = device.plans.find(problem);
  if (found == device.plans.end()) {
    found = device.plans.emplace(problem, make_plan(device.handle, problem, s)).first;
  }
  const Plan& plan = found->second;
  if (!plan.choice) return false;
  check_status(f.set_stream(device.handle, stream()), "its stream");
  const DeviceScratch workspace(plan.choice->memory);
  run(device.handle, plan, workspace.as<void>());
  return true;
}

// One of cuDNN's scalars.
struct Scalar {
  float narrow;
  double wide;
  explicit Scalar(double v) : narrow(static_cast<float>(v)), wide(v) {}
  const void* of(DType dtype) const {
    return dtype == DType::kF64 ? static_cast<const void*>(&wide) : &narrow;
  }
};

// Between the weight's own strides and [k, kh, kw, c] without gaps.
template <class T, bool kPack>
struct MoveWeight {
  Conv2dShape s;
  T *packed, *weight;

  __device__ void operator()(int64_t k, int64_t column) const {
    const int64_t channels = s.c / s.groups, c = column % channels, tap = column / channels;
    T& own = weight[k * s.weight_strides[0] + c * s.weight_strides[1] +
                    tap / s.kw * s.weight_strides[2] + tap % s.kw * s.weight_strides[3]];
    T& in_order = packed[k * s.kh * s.kw * channels + column];
    if constexpr (kPack) {
      in_order = own;
    } else {
      own = in_order;
    }
  }
};

template <bool kPack>
void move_weight(DType dtype, const Conv2dShape& s, void* packed, void* weight) {
  const RowShape rows{s.k, s.kh * s.kw * (s.c / s.groups)};
  visit_bits(dtype, [&]<class T>() {
    for_each_element(
        rows, MoveWeight<T, kPack>{s, static_cast<T*>(packed), static_cast<T*>(weight)});
  });
}

bool is_packed(const Conv2dShape& s) {
  const int64_t channels = s.c / s.groups;
  const int64_t sizes[4] = {s.k, channels, s.kh, s.kw};
  const int64_t strides[4] = {s.kh * s.kw * channels, 1, s.kw * channels, channels};
  for (int i = 0; i < 4; ++i) {
    if (sizes[i] > 1 && s.weight_strides[i] != strides[i]) return false;
  }
  return true;
}

// The weight in cuDNN's order: itself where it is, or memory for it.
class PackedWeight {
 public:
  PackedWeight(DType dtype, const Conv2dShape& s)
      : packed_(is_packed(s)),
        memory_(packed_ ? 0
                        : static_cast<size_t>(s.k * s.kh * s.kw * (s.c / s.groups) *
                                              itemsize(dtype))) {}
  void* data(void* weight) const { return packed_ ? weight : memory_.as<void>(); }
  bool is_the_weight() const { return packed_; }

 private:
  bool packed_;
  DeviceScratch memory_;
};

// y = y (* scale) (+ bias) (+ residual), then ReLU if asked.
template <class T>
struct Finish {
  const T *scale, *bias;
  Elements<T> residual, y;
  bool relu;
  int64_t width;

  __device__ void operator()(int64_t row, int64_t column) const {
    const int64_t at = row * width + column;
    T v = y[at];
    if (scale != nullptr) v *= scale[column];
    if (bias != nullptr) v += bias[column];
    if (residual.defined()) v += residual[at];
    y.set(at, relu && v < T(0) ? T(0) : v);
  }
};

}  // namespace

bool convolve_by_cudnn(DType dtype, const Conv2dShape& s, const void* x, const void* weight,
                       const Conv2dEpilogue& e, void* y) {
  const Scalar one(1), zero(0);
  const bool done = with_plan(dtype, s, Pass::kForward, [&](Handle handle, const Plan& p,
                                                            void* workspace) {
    const PackedWeight w(dtype, s);
    void* own = const_cast<void*>(weight);  // only read
    if (!w.is_the_weight()) move_weight<true>(dtype, s, w.data(own), own);
    check_status(dnn().f.forward(handle, one.of(dtype), p.x, x, p.w, w.data(own), p.convolution,
                                 p.choice->algorithm, workspace, p.choice->memory, zero.of(dtype),
                                 p.y, y),
                 "a convolution");
  });
  if (!done) return false;
  if (e.scale == nullptr && e.bias == nullptr && e.residual == nullptr && !e.relu) return true;
  with_real(dtype, [&](auto t) {
    using T = decltype(t);
    for_each_element({s.n * s.oh * s.ow, s.k},
                     Finish<T>{static_cast<const T*>(e.scale),
                               static_cast<const T*>(e.bias),
                               {e.residual, dtype},
                               {y, dtype},
                               e.relu,
                               s.k});
  });
  return true;
}

bool input_gradient_by_cudnn(DType dtype, const Conv2dShape& s, const void* grad_y,
                             const void* weight, void* grad_x) {
  const Scalar one(1), zero(0);
  return with_plan(dtype, s, Pass::kInputGradient, [&](Handle handle, const Plan& p,
                                                       void* workspace) {
    const PackedWeight w(dtype, s);
    void* own = const_cast<void*>(weight);  // only read
    if (!w.is_the_weight()) move_weight<true>(dtype, s, w.data(own), own);
    check_status(dnn().f.backward_data(handle, one.of(dtype), p.w, w.data(own), p.y, grad_y,
                                       p.convolution, p.choice->algorithm, workspace,
                                       p.choice->memory, zero.of(dtype), p.x, grad_x),
                 "a convolution's gradient");
  });
}

bool weight_gradient_by_cudnn(DType dtype, const Conv2dShape& s, const void* x, const void* grad_y,
                              void* grad_weight) {
  const Scalar one(1), zero(0);
  return with_plan(dtype, s, Pass::kWeightGradient, [&](Handle handle, const Plan& p,
                                                        void* workspace) {
    const PackedWeight w(dtype, s);
    check_status(dnn().f.backward_filter(handle, one.of(dtype), p.x, x, p.y, grad_y,
                                         p.convolution, p.choice->algorithm, workspace,
                                         p.choice->memory, zero.of(dtype), p.w,
                                         w.data(grad_weight)),
                 "a convolution's gradient");
    if (!w.is_the_weight()) move_weight<false>(dtype, s, w.data(grad_weight), grad_weight);
  });
}

}  // namespace zoo::cuda
