// What every bindings file needs: how tensors and dtypes cross into Python, and how operations
// are bound.
#pragma once

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

// The Python objects engine.float32 and so on: one per dtype.
struct PyDType {
  DType value;
};
py::object dtype_object(DType t);
DType dtype_from(py::handle h);  // a dtype, its name, or a numpy dtype

// Notes the line of the user's program that is running, for backward's messages.
void capture_location();

// Around every operation: the location is noted while Python's lock is held, then it is released.
class OpScope {
 public:
  OpScope() { capture_location(); state_ = PyEval_SaveThread(); }
  ~OpScope() { PyEval_RestoreThread(state_); }
  OpScope(const OpScope&) = delete;

 private:
  PyThreadState* state_;
};

template <class R, class... A>
auto as_op(R (*fn)(A...)) {
  return [fn](A... args) -> R {
    OpScope scope;
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

// A tensor, or a number or array that meets `like` in an operation; nullopt if it is neither.
std::optional<Tensor> to_operand(py::handle h, const Tensor& like);
// Anything engine.asarray takes.
Tensor to_tensor(py::handle h, std::optional<DType> dtype = {}, std::optional<bool> copy = {});

// One per file of bindings.
void bind_dtypes(py::module_& m);
void bind_location(py::module_& m);
TensorClass bind_tensor(py::module_& m);
void bind_numpy(py::module_& m, TensorClass& cls);
void bind_operators(py::module_& m, TensorClass& cls);
void bind_indexing(TensorClass& cls);
void bind_functions(py::module_& m, TensorClass& cls);
void bind_autograd(py::module_& m, TensorClass& cls);
void bind_node(py::module_& m, TensorClass& cls);
void bind_function(py::module_& m);
void bind_extension(py::module_& m);
void bind_system(py::module_& m);
void bind_nn(py::module_& m);
void bind_random(py::module_& m);
void bind_optim(py::module_& m);

}  // namespace zoo

namespace pybind11::detail {

template <>
struct type_caster<zoo::Tensor> {
  PYBIND11_TYPE_CASTER(zoo::Tensor, const_name("engine._C.Tensor"));

  bool load(handle src, bool) {
    if (!isinstance<zoo::TensorImpl>(src)) {
      throw type_error("expected an engine.Tensor, got " +
                       std::string(str(type::handle_of(src).attr("__name__"))) +
                       "; convert it with engine.asarray(...)");
    }
    value = zoo::Tensor(src.cast<zoo::TensorImpl*>());
    return true;
  }
  static handle cast(const zoo::Tensor& t, return_value_policy, handle) {
    if (!t.defined()) return none().release();
    return pybind11::cast(t.ref()).release();
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
