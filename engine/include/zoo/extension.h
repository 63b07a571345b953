// Differentiable operations from your own pybind11 module, compiled on its own: nothing to link
// with, and no header of the engine's but these two. C++17.
//
//   #include <zoo/extension.h>
//   namespace ext = zoo::extension;
//
//   ext::Tensor forward(ext::Context ctx, ext::Tensor x) { ... ctx.save(x); return y; }
//   ext::Tensor backward(ext::Context ctx, ext::Tensor grad) { ... ctx.saved(0) ... }
//
//   PYBIND11_MODULE(mine, m) { ext::def_differentiable(m, "square", forward, backward); }
//
// engine.get_include() is the folder to compile with; engine/EXTENDING.md has a whole example.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "zoo/abi.h"

// Hidden as pybind11's own types are: two extensions in one process share nothing.
#define ZOO_EXTENSION_HIDDEN __attribute__((visibility("hidden")))

namespace zoo {
namespace extension ZOO_EXTENSION_HIDDEN {

namespace py = pybind11;

// The engine's table; imports the engine when first used.
inline const zoo_extension_api& api() {
  static const zoo_extension_api* table = [] {
    const py::object capsule = py::module_::import("engine._C").attr("_extension_api");
    const auto* found = static_cast<const zoo_extension_api*>(
        PyCapsule_GetPointer(capsule.ptr(), ZOO_EXTENSION_CAPSULE));
    if (found == nullptr) throw py::error_already_set();
    if (found->version != ZOO_EXTENSION_VERSION || found->size < sizeof(zoo_extension_api)) {
      throw py::import_error("this extension was compiled for version " +
                             std::to_string(ZOO_EXTENSION_VERSION) +
                             " of zoo/abi.h, the engine has version " +
                             std::to_string(found->version) + "; compile it again");
    }
    return found;
  }();
  return *table;
}

template <class T>
inline const char* dtype_name = nullptr;
template <> inline constexpr const char* dtype_name<bool> = "bool";
template <> inline constexpr const char* dtype_name<uint8_t> = "uint8";
template <> inline constexpr const char* dtype_name<int8_t> = "int8";
template <> inline constexpr const char* dtype_name<uint16_t> = "uint16";
template <> inline constexpr const char* dtype_name<int16_t> = "int16";
template <> inline constexpr const char* dtype_name<uint32_t> = "uint32";
template <> inline constexpr const char* dtype_name<int32_t> = "int32";
template <> inline constexpr const char* dtype_name<uint64_t> = "uint64";
template <> inline constexpr const char* dtype_name<int64_t> = "int64";
template <> inline constexpr const char* dtype_name<float> = "float32";
template <> inline constexpr const char* dtype_name<double> = "float64";

// An engine.Tensor. Copies share it.
class Tensor {
 public:
  Tensor() = default;  // None
  explicit Tensor(py::object object) : object_(std::move(object)) {
    if (api().view(object_.ptr(), &view_) != 0) throw py::error_already_set();
  }

  bool defined() const { return static_cast<bool>(object_); }
  const py::object& object() const { return object_; }
  int ndim() const { return view_.ndim; }
  int64_t numel() const { return view_.numel; }
  int64_t size(int axis) const { return view_.shape[axis < 0 ? axis + view_.ndim : axis]; }
  int64_t stride(int axis) const { return view_.strides[axis < 0 ? axis + view_.ndim : axis]; }
  std::vector<int64_t> shape() const { return {view_.shape, view_.shape + view_.ndim}; }
  std::string dtype() const { return view_.dtype; }
  bool is_contiguous() const { return view_.is_contiguous != 0; }

  // This tensor in row-major order: itself, or a copy.
  Tensor contiguous() const {
    PyObject* made = api().contiguous(object_.ptr());
    if (made == nullptr) throw py::error_already_set();
    return Tensor(py::reinterpret_steal<py::object>(made));
  }

  template <class T>
  bool holds() const {
    return std::strcmp(view_.dtype, dtype_name<T>) == 0;
  }

  // The elements, in row-major order. Raises TypeError for another dtype and ValueError if they do
  // not lie so: call contiguous() first.
  template <class T>
  T* data() const {
    if (!holds<T>()) {
      throw py::type_error(std::string("expected a tensor of ") + dtype_name<T> + ", got " +
                           view_.dtype);
    }
    if (!is_contiguous()) throw py::value_error("expected a contiguous tensor");
    return static_cast<T*>(view_.data);
  }

  // Before writing to a tensor that came from the caller.
  void will_change(const char* operation) const {
    if (api().will_change(object_.ptr(), operation) != 0) throw py::error_already_set();
  }

 private:
  py::object object_;
  zoo_tensor_view view_{};
};

inline Tensor empty(const std::vector<int64_t>& shape, const std::string& dtype) {
  PyObject* made = api().empty(static_cast<int32_t>(shape.size()), shape.data(), dtype.c_str());
  if (made == nullptr) throw py::error_already_set();
  return Tensor(py::reinterpret_steal<py::object>(made));
}
inline Tensor empty_like(const Tensor& t) { return empty(t.shape(), t.dtype()); }

// body(b, e) on pieces of at least `grain` indices that cover [begin, end), on the engine's
// threads, without Python's lock. The first exception is thrown here when all pieces have ended.
template <class Body>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const Body& body) {
  struct Call {
    const Body& body;
    std::mutex mutex;
    std::exception_ptr error;
  } call{body, {}, nullptr};
  {
    const py::gil_scoped_release unlocked;
    api().parallel_for(
        begin, end, grain,
        [](void* context, int64_t b, int64_t e) {
          auto& call = *static_cast<Call*>(context);
          try {
            call.body(b, e);
          } catch (...) {
            const std::lock_guard<std::mutex> lock(call.mutex);
            if (!call.error) call.error = std::current_exception();
          }
        },
        &call);
  }
  if (call.error) std::rethrow_exception(call.error);
}

// The ctx of engine.autograd.Function.
class Context {
 public:
  Context() = default;
  explicit Context(py::object object) : object_(std::move(object)) {}

  // In forward: tensors for backward. A change of one in place will be noticed.
  template <class... Tensors>
  void save(const Tensors&... tensors) const {
    object_.attr("save_for_backward")(tensors.object()...);
  }
  // In backward: what was saved.
  Tensor saved(size_t i) const {
    return Tensor(py::object(py::tuple(object_.attr("saved_tensors"))[i]));
  }
  // Other values, by name.
  template <class T>
  void set(const char* name, T&& value) const {
    object_.attr(name) = std::forward<T>(value);
  }
  template <class T>
  T get(const char* name) const {
    return object_.attr(name).template cast<T>();
  }
  // Whether a gradient for argument i of forward is wanted.
  bool needs_grad(size_t i) const {
    return py::tuple(object_.attr("needs_input_grad"))[i].template cast<bool>();
  }

 private:
  py::object object_;
};

}  // namespace extension
}  // namespace zoo

namespace pybind11::detail {

template <>
struct type_caster<zoo::extension::Tensor> {
  PYBIND11_TYPE_CASTER(zoo::extension::Tensor, const_name("engine.Tensor"));

  bool load(handle source, bool) {
    if (source.is_none()) return true;  // an undefined tensor
    if (zoo::extension::api().is_tensor(source.ptr()) == 0) return false;
    value = zoo::extension::Tensor(reinterpret_borrow<object>(source));
    return true;
  }
  static handle cast(const zoo::extension::Tensor& t, return_value_policy, handle) {
    return t.defined() ? handle(t.object()).inc_ref() : none().release();
  }
};

template <>
struct type_caster<zoo::extension::Context> {
  PYBIND11_TYPE_CASTER(zoo::extension::Context, const_name("ctx"));

  bool load(handle source, bool) {
    value = zoo::extension::Context(reinterpret_borrow<object>(source));
    return true;
  }
  static handle cast(const zoo::extension::Context&, return_value_policy, handle) = delete;
};

}  // namespace pybind11::detail

namespace zoo {
namespace extension ZOO_EXTENSION_HIDDEN {

// m.name(...): an operation with its gradient. forward(Context, arguments...) returns a Tensor, or
// a py::tuple of several; backward(Context, gradients of the results...) returns one gradient per
// argument, a Tensor or a py::tuple with None where there is none. Asking for gradients of these
// gradients is an error.
template <class Forward, class Backward>
void def_differentiable(py::module_& m, const char* name, Forward&& forward, Backward&& backward,
                        const char* doc = "") {
  const py::object autograd = py::module_::import("engine.autograd");
  const py::object static_method = py::module_::import("builtins").attr("staticmethod");
  const std::string backward_name = std::string(name) + ".backward";
  const py::cpp_function f(std::forward<Forward>(forward), py::name(name));
  const py::cpp_function b(std::forward<Backward>(backward), py::name(backward_name.c_str()));
  py::dict members;
  members["forward"] = static_method(f);
  members["backward"] = static_method(autograd.attr("once_differentiable")(b));
  members["__doc__"] = doc;
  const py::object type = py::module_::import("builtins").attr("type");
  m.attr(name) =
      type(name, py::make_tuple(autograd.attr("Function")), members).attr("apply");
}

}  // namespace extension
}  // namespace zoo
