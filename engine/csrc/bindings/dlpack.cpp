// DLPack: tensors to and from other libraries without a copy (https://dmlc.github.io/dlpack).
#include <vector>

#include "bindings/bind.h"

namespace zoo {
namespace {

// The structures of DLPack 1.0 as its specification lays them out.
struct DLDevice {
  int32_t type, id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null means row-major
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor tensor;
};

constexpr int32_t kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3;
constexpr uint64_t kReadOnly = 1, kCopied = 2;
enum Code : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBFloat = 4, kComplex = 5, kBool = 6 };

template <class Managed>
constexpr const char* kFresh = "dltensor";
template <>
constexpr const char* kFresh<DLManagedTensorVersioned> = "dltensor_versioned";
template <class Managed>
constexpr const char* kUsed = "used_dltensor";
template <>
constexpr const char* kUsed<DLManagedTensorVersioned> = "used_dltensor_versioned";

[[noreturn]] void buffer_error(const std::string& text) { throw py::buffer_error(text); }

DLDataType dl_dtype(DType t) {
  const auto bits = static_cast<uint8_t>(8 * itemsize(t));
  const uint8_t code = is_bool(t)              ? kBool
                       : is_complex(t)         ? kComplex
                       : t == DType::kBF16     ? kBFloat
                       : is_floating(t)        ? kFloat
                       : is_unsigned(t)        ? kUInt
                                               : kInt;
  return {code, bits, 1};
}

DType dtype_of_dl(DLDataType d) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DLDataType own = dl_dtype(static_cast<DType>(i));
    if (own.code == d.code && own.bits == d.bits && d.lanes == 1) return static_cast<DType>(i);
  }
  buffer_error(concat_text("from_dlpack: no tensor holds elements of DLPack type code ",
                           static_cast<int>(d.code), ", ", static_cast<int>(d.bits), " bits, ",
                           d.lanes, " lanes"));
}

// ---- out ---------------------------------------------------------------------------------------

// What a consumer holds on to: the tensor and the arrays that the structure points at.
template <class Managed>
struct Exported {
  Managed managed{};
  Tensor tensor;
  std::vector<int64_t> shape, strides;
};

template <class Managed>
void free_unconsumed(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kFresh<Managed>)) return;  // a consumer owns it now
  auto* m = static_cast<Managed*>(PyCapsule_GetPointer(capsule, kFresh<Managed>));
  m->deleter(m);
}

template <class Managed>
py::object export_as(const Tensor& t, [[maybe_unused]] bool copied) {
  auto* e = new Exported<Managed>;
  e->tensor = t;
  t.storage()->expose();
  e->shape.assign(t.shape().begin(), t.shape().end());
  e->strides.assign(t.strides().begin(), t.strides().end());
  e->managed.tensor = {t.data(), {kDLCPU, 0}, t.ndim(), dl_dtype(t.dtype()),
                       e->shape.data(), e->strides.data(), 0};
  e->managed.context = e;
  e->managed.deleter = [](Managed* m) { delete static_cast<Exported<Managed>*>(m->context); };
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
    e->managed.major = 1;
    e->managed.minor = 0;
    e->managed.flags = (t.storage()->read_only() ? kReadOnly : 0) | (copied ? kCopied : 0);
  }
  PyObject* capsule = PyCapsule_New(&e->managed, kFresh<Managed>, &free_unconsumed<Managed>);
  if (capsule == nullptr) {
    delete e;
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::object>(capsule);
}

py::object to_dlpack(const Tensor& self, const py::object& stream,
                     const std::optional<std::pair<int64_t, int64_t>>& max_version,
                     const std::optional<std::pair<int64_t, int64_t>>& dl_device,
                     std::optional<bool> copy) {
  if (self.device().type != DeviceType::kCPU) {
    buffer_error(concat_text("__dlpack__: this tensor is on '", device_text(self.device()),
                             "'; use .to('cpu') first"));
  }
  check(stream.is_none(), "__dlpack__: a tensor on 'cpu' has no stream, expected stream=None");
  if (dl_device && dl_device->first != kDLCPU) {
    buffer_error(concat_text("__dlpack__: device (", dl_device->first, ", ", dl_device->second,
                             ") is not in this build; only (1, 0), the CPU, is"));
  }
  if (self.requires_grad()) {
    buffer_error("__dlpack__: this tensor requires gradients, which the consumer would not "
                 "record; use .detach()");
  }
  const bool copies = copy == true;
  Tensor t = self;
  if (copies) {
    OpScope scope;
    t = clone(self);
  }
  if (max_version && max_version->first >= 1) return export_as<DLManagedTensorVersioned>(t, copies);
  if (t.storage()->read_only()) {
    buffer_error("__dlpack__: this tensor is read-only, which DLPack before 1.0 cannot say; pass "
                 "max_version=(1, 0) or copy=True");
  }
  return export_as<DLManagedTensor>(t, copies);
}

// ---- in ----------------------------------------------------------------------------------------

template <class Managed>
Tensor import_from(py::handle capsule) {
  auto* m = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), kFresh<Managed>));
  if (m == nullptr) throw py::error_already_set();
  bool read_only = false;
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
    if (m->major != 1) {
      buffer_error(concat_text("from_dlpack: version ", m->major, " of DLPack; expected 1"));
    }
    read_only = (m->flags & kReadOnly) != 0;
  }
  const DLTensor& d = m->tensor;
  if (d.device.type != kDLCPU && d.device.type != kDLCUDAHost) {
    buffer_error(concat_text("from_dlpack: elements on DLPack device type ", d.device.type,
                             "; only the CPU, type 1, is in this build"));
  }
  const DType dtype = dtype_of_dl(d.dtype);
  if (d.ndim > kMaxDims) {
    buffer_error(concat_text("from_dlpack: ", d.ndim, " dimensions; at most ", kMaxDims));
  }
  Dims shape, strides;
  for (int i = 0; i < d.ndim; ++i) shape.push_back(d.shape[i]);
  if (d.strides == nullptr) {
    strides = contiguous_strides(shape);
  } else {
    for (int i = 0; i < d.ndim; ++i) strides.push_back(d.strides[i]);
  }
  char* data = static_cast<char*>(d.data) + d.byte_offset;
  if (shape.product() > 0 && reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(itemsize(real_dtype(dtype))) != 0) {
    buffer_error("from_dlpack: the elements are not aligned to their size; pass copy=True");
  }
  // From here on the structure is ours to free.
  if (PyCapsule_SetName(capsule.ptr(), kUsed<Managed>) != 0) throw py::error_already_set();
  const auto free = [m] {
    if (m->deleter == nullptr || !Py_IsInitialized()) return;
    py::gil_scoped_acquire lock;
    m->deleter(m);
  };
  auto storage = make_ref<Storage>(data, static_cast<size_t>(shape.product() * itemsize(dtype)),
                                   Device{}, read_only, free);
  return Tensor(make_ref<TensorImpl>(std::move(storage), dtype, shape, strides, 0));
}

Tensor import_capsule(py::handle capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), kFresh<DLManagedTensorVersioned>)) {
    return import_from<DLManagedTensorVersioned>(capsule);
  }
  const char* name = PyCapsule_GetName(capsule.ptr());
  check(name != nullptr && std::string_view(name) == kFresh<DLManagedTensor>,
        "from_dlpack: a capsule called '", name ? name : "",
        "'; each can be consumed once, and a used one holds nothing");
  return import_from<DLManagedTensor>(capsule);
}

Tensor from_dlpack(const py::object& x, const py::object& device, std::optional<bool> copy) {
  const bool asked = !device.is_none();
  device_from(device);
  if (PyCapsule_CheckExact(x.ptr())) {
    const Tensor t = import_capsule(x);
    return copy == true ? clone(t) : t;
  }
  check<TypeError>(py::hasattr(x, "__dlpack__"), "from_dlpack: expected an object with a method "
                   "__dlpack__, got ",
                   ClassText{x});
  py::dict options;
  options["max_version"] = py::make_tuple(1, 0);
  if (asked) options["dl_device"] = py::make_tuple(kDLCPU, 0);
  if (copy) options["copy"] = *copy;
  py::object capsule;
  try {
    capsule = x.attr("__dlpack__")(**options);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    capsule = x.attr("__dlpack__")();  // a producer from before 1.0 knows no keywords
    const Tensor t = import_capsule(capsule);
    return copy == true ? clone(t) : t;
  }
  return import_capsule(capsule);
}

}  // namespace

void bind_dlpack(py::module_& m, TensorClass& cls) {
  cls.def("__dlpack__", &to_dlpack, py::kw_only(), py::arg("stream") = py::none(),
          py::arg("max_version") = py::none(), py::arg("dl_device") = py::none(),
          py::arg("copy") = py::none(),
          "A DLPack capsule over this tensor's memory, or a copy's. Raises BufferError where "
          "gradients are required or the device is another.")
      .def("__dlpack_device__",
           [](const Tensor& t) {
             const Device d = t.device();
             return d.type == DeviceType::kCPU ? py::make_tuple(kDLCPU, 0)
                                               : py::make_tuple(kDLCUDA, int{d.index});
           },
           "DLPack's pair of numbers for the device: (1, 0), the CPU, or (2, index), a GPU.");
  m.def("from_dlpack", &from_dlpack, py::arg("x"), py::pos_only(), py::kw_only(),
        py::arg("device") = py::none(), py::arg("copy") = py::none(),
        "A tensor over the memory of another library's array, by the DLPack protocol; a DLPack "
        "capsule is taken too, once.\n\nArgs:\n    x: an object with __dlpack__, such as a numpy "
        "or PyTorch array.\n    device: None or 'cpu'.\n    copy: True always copies, False never "
        "does, None only if it must.\n\nRaises BufferError for elements that no tensor can "
        "point at.\n\n>>> engine.from_dlpack(numpy.ones(2)).dtype\nfloat64");
}

}  // namespace zoo
