// What every bindings file needs: how tensors and dtypes cross into Python, and how operations
// are bound.
#pragma once

#include <pybind11/complex.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "autograd/node.h"
#include "ops/ops.h"

PYBIND11_DECLARE_HOLDER_TYPE(T, zoo::Ref<T>, true)

namespace py = pybind11;

namespace zoo {

using TensorClass = py::class_<TensorImpl, Ref<TensorImpl>>;

// engine.Tensor, set by bind_tensor. Finding them by the C++ type, as pybind11 does, is a search by
// name in a table: a fifth of the time of a small operation.
extern PyTypeObject* g_tensor_type;
extern const py::detail::type_info* g_tensor_info;

inline bool is_tensor(py::handle h) { return PyObject_TypeCheck(h.ptr(), g_tensor_type); }
// Of an object that is one; null if a subclass has not called Tensor.__init__.
inline TensorImpl* tensor_of(py::handle h) {
  auto* instance = reinterpret_cast<py::detail::instance*>(h.ptr());
  return instance->get_value_and_holder().value_ptr<TensorImpl>();
}

// The Python objects engine.float32 and so on: one per dtype.
struct PyDType {
  DType value;
};
py::object dtype_object(DType t);
DType dtype_from(py::handle h);  // a dtype, its name, or a numpy dtype

// repr(object), cut short; made when a message needs it.
struct ReprText {
  py::handle object;
  friend std::ostream& operator<<(std::ostream& out, const ReprText& text) {
    return out << py::cast<std::string>(py::repr(text.object)).substr(0, 80);
  }
};

// The name of an object's class, likewise.
struct ClassText {
  py::handle object;
  friend std::ostream& operator<<(std::ostream& out, const ClassText& text) {
    return out << py::cast<std::string>(py::type::handle_of(text.object).attr("__name__"));
  }
};

// Device objects, t.device.
struct PyDevice {
  Device value;
};
Device device_from(py::handle h);  // None (see engine.device), a device or its name
bool is_device_name(const std::string& name);
// For what reads a tensor's memory in place: ValueError that names `op` unless it is the host's.
void check_on_host(const char* op, const Tensor& t);

// Notes the line of the user's program that is running, for backward's messages.
void capture_location();

// What the tensors among an operation's arguments say about it; without any, the safe answers.
struct OpHints {
  bool records = false, long_work = false, any = false;

  template <class T>
  void look_at(const T& argument) {
    if constexpr (std::is_same_v<T, Tensor>) {
      any = true;
      if (!argument.defined()) return;
      records = records || argument.requires_grad();
      long_work = long_work || argument.numel() > 512;
    } else if constexpr (std::is_same_v<T, std::optional<Tensor>>) {
      if (argument) look_at(*argument);
    } else if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
      for (const Tensor& t : argument) look_at(t);
    }
  }
  template <class... A>
  explicit OpHints(const A&... arguments) {
    (look_at(arguments), ...);
    if (!any) records = long_work = true;
  }
};

// Around every operation: the location is noted while Python's lock is held, then it is released.
// Neither is worth its time where nothing will be recorded, or the work is soon done.
class OpScope {
 public:
  OpScope() : OpScope(OpHints()) {}
  explicit OpScope(const OpHints& hints) {
    if (hints.records) capture_location();
    if (hints.long_work) state_ = PyEval_SaveThread();
  }
  ~OpScope() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }
  OpScope(const OpScope&) = delete;

 private:
  PyThreadState* state_ = nullptr;
};

template <class R, class... A>
auto as_op(R (*fn)(A...)) {
  return [fn](A... args) -> R {
    OpScope scope{OpHints(args...)};
    return fn(std::forward<A>(args)...);
  };
}

// Binds `fn` as m.name(...).
template <class R, class... A, class... Extra>
void def_op(py::module_& m, const char* name, R (*fn)(A...), const Extra&... extra) {
  m.def(name, as_op(fn), extra...);
}

// Binds `fn` as m.name(x, ...) and as x.name(...); `doc` says what it does with `x`.
template <class R, class... A, class... Extra>
void def_both(py::module_& m, TensorClass& cls, const char* name, R (*fn)(const Tensor&, A...),
              const char* doc, const Extra&... extra) {
  const auto op = as_op(fn);
  m.def(name, op, py::arg("x"), extra..., doc);
  cls.def(name, op, extra..., doc);
}

// Optional tensors arrive as std::optional: None means "no tensor".
inline Tensor or_none(const std::optional<Tensor>& t) { return t.value_or(Tensor()); }

// None, an int, or a sequence of ints.
using AxesArg = std::optional<std::variant<int64_t, std::vector<int64_t>>>;
Axes to_axes(const AxesArg& arg);
using ShapeArg = std::variant<int64_t, std::vector<int64_t>>;
Dims to_dims(const ShapeArg& arg);

// astype for the user's own calls: complex numbers do not lose their imaginary part in silence.
Tensor convert(const Tensor& t, DType dtype);
// A tensor, or a number or array that meets `like` in an operation; nullopt if it is neither.
std::optional<Tensor> to_operand(py::handle h, const Tensor& like);
// Anything engine.asarray takes.
Tensor to_tensor(py::handle h, std::optional<DType> dtype = {}, std::optional<bool> copy = {});

// (rows, columns)
using Pair = std::array<int64_t, 2>;
Conv2dOptions conv2d_options(Pair stride, Pair padding, Pair dilation, int64_t groups);

// One per file of bindings.
void bind_dtypes(py::module_& m);
void bind_device(py::module_& m);
void bind_dlpack(py::module_& m, TensorClass& cls);
void bind_location(py::module_& m);
void bind_memory(py::module_& m);
void bind_backend(py::module_& m);
TensorClass bind_tensor(py::module_& m);
void bind_numpy(py::module_& m, TensorClass& cls);
void bind_operators(py::module_& m, TensorClass& cls);
void bind_complex(py::module_& m, TensorClass& cls);
void bind_indexing(TensorClass& cls);
void bind_functions(py::module_& m, TensorClass& cls);
void bind_autograd(py::module_& m, TensorClass& cls);
void bind_node(py::module_& m, TensorClass& cls);
void bind_function(py::module_& m);
void bind_extension(py::module_& m);
void bind_system(py::module_& m);
void bind_nn(py::module_& m);
void bind_transformer(py::module_& m);
void bind_random(py::module_& m);
void bind_optim(py::module_& m);
void bind_order(py::module_& m);

}  // namespace zoo

namespace pybind11::detail {

template <>
struct type_caster<zoo::Tensor> {
  PYBIND11_TYPE_CASTER(zoo::Tensor, const_name("engine._C.Tensor"));

  bool load(handle src, bool) {
    if (!zoo::is_tensor(src) || zoo::tensor_of(src) == nullptr) {
      throw type_error("expected an engine.Tensor, got " +
                       std::string(str(type::handle_of(src).attr("__name__"))) +
                       "; convert it with engine.asarray(...)");
    }
    value = zoo::Tensor(zoo::tensor_of(src));
    return true;
  }
  static handle cast(const zoo::Tensor& t, return_value_policy, handle) {
    if (!t.defined()) return none().release();
    return type_caster_generic::cast(cast_sources{t.impl(), zoo::g_tensor_info},
                                     return_value_policy::take_ownership, {}, nullptr, nullptr,
                                     &t.ref());
  }
};

template <>
struct type_caster<zoo::DType> {
  PYBIND11_TYPE_CASTER(zoo::DType, const_name("engine._C.dtype"));

  bool load(handle src, bool) {
    value = zoo::dtype_from(src);
    return true;
  }
  static handle cast(zoo::DType t, return_value_policy, handle) {
    return zoo::dtype_object(t).release();
  }
};

}  // namespace pybind11::detail
