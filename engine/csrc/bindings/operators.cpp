// Python's operators, and every row of ops/pointwise.def as function and method.
#include "bindings/bind.h"

namespace zoo {
namespace {

using BinaryFn = Tensor (*)(const Tensor&, const Tensor&);

py::object not_implemented() { return py::reinterpret_borrow<py::object>(Py_NotImplemented); }

template <bool kReflected>
auto operator_method(BinaryFn fn) {
  return [fn](const Tensor& self, py::handle other) -> py::object {
    const auto operand = to_operand(other, self);
    if (!operand) return not_implemented();
    Tensor out;
    {
      OpScope scope{OpHints(self, *operand)};
      out = kReflected ? fn(*operand, self) : fn(self, *operand);
    }
    return py::cast(out);
  };
}

auto inplace_method(const char* op) {
  return [op](const Tensor& self, py::handle other) -> py::object {
    const auto operand = to_operand(other, self);
    if (!operand) return not_implemented();
    Tensor out;
    {
      OpScope scope;
      out = binary_inplace(op, self, *operand);
    }
    return py::cast(out);
  };
}

// For what has no kernel that works in place: computed aside and copied back.
auto copied_back_method(const char* op, BinaryFn fn) {
  return [op, fn](const Tensor& self, py::handle other) -> py::object {
    const auto operand = to_operand(other, self);
    if (!operand) return not_implemented();
    {
      OpScope scope;
      const Tensor out = fn(self, *operand);
      check<TypeError>(out.dtype() == self.dtype(), op, ": in place, the result would be ",
                       dtype_name(out.dtype()), ", which a tensor of ", dtype_name(self.dtype()),
                       " cannot hold; use the operation that makes a new tensor");
      check(out.shape() == self.shape(), op, ": in place, the result must fit ",
            to_string(self.shape()), ", but it has shape ", to_string(out.shape()));
      copy_(self, out);
    }
    return py::cast(self);
  };
}

// a and b may be tensors or numbers; at least one is a tensor.
auto binary_function(const char* name, BinaryFn fn) {
  return [name, fn](py::handle a, py::handle b) {
    const bool a_first = is_tensor(a);
    check<TypeError>(a_first || is_tensor(b), name,
                     ": expected at least one engine.Tensor; convert with engine.asarray");
    const Tensor like(tensor_of(a_first ? a : b));
    const auto left = to_operand(a, like), right = to_operand(b, like);
    check<TypeError>(left && right, name, ": expected tensors or numbers, got ",
                     ReprText{a_first ? b : a});
    OpScope scope{OpHints(*left, *right)};
    return fn(*left, *right);
  };
}

// Python finds `a + b` through a slot of the type. The one that pybind11's class has looks the method
// up by name and packs its arguments; between two tensors this one calls the operation itself.
template <binaryfunc PyNumberMethods::*slot, BinaryFn fn>
class DirectOperator {
 public:
  static void install(const char* name, const char* reflected) {
    name_ = PyUnicode_InternFromString(name);
    reflected_ = PyUnicode_InternFromString(reflected);
    g_tensor_type->tp_as_number->*slot = &call;
  }

 private:
  static PyObject* call(PyObject* a, PyObject* b) {
    if (!Py_IS_TYPE(a, g_tensor_type) || !Py_IS_TYPE(b, g_tensor_type)) return call_method(a, b);
    try {
      const Tensor left(tensor_of(a)), right(tensor_of(b));
      Tensor out;
      {
        OpScope scope{OpHints(left, right)};
        out = fn(left, right);
      }
      return py::cast(out).release().ptr();
    } catch (const std::exception&) {
      return call_method(a, b);  // fails in the same way, and knows how to tell Python
    }
  }

  static PyObject* call_method(PyObject* a, PyObject* b) {
    if (PyObject_TypeCheck(a, g_tensor_type)) return PyObject_CallMethodOneArg(a, name_, b);
    return PyObject_CallMethodOneArg(b, reflected_, a);
  }

  static inline PyObject *name_ = nullptr, *reflected_ = nullptr;
};

// Squares and cubes by multiplication, which costs a tenth of the general power.
Tensor power(const Tensor& base, const Tensor& exponent) {
  const DType dtype = base.dtype();
  if (exponent.ndim() == 0 && exponent.dtype() == dtype && !exponent.requires_grad() &&
      exponent.device().type == DeviceType::kCPU &&
      (dtype == DType::kF32 || dtype == DType::kF64)) {
    const double e = dtype == DType::kF32 ? static_cast<double>(*exponent.data<float>())
                                          : *exponent.data<double>();
    if (e == 2) return square(base);
    if (e == 3) return multiply(square(base), base);
  }
  return pow(base, exponent);
}

// One shape of docstring for every row of the table. pybind11 copies the text.
std::string unary_doc(const char* name, const char* doc, bool floats_only) {
  return concat_text(
      doc, ", elementwise.\n\nArgs:\n    x: tensor of any shape; ",
      floats_only ? "integers are converted to float32." : "any dtype but bool.",
      "\n\nReturns a tensor of x's shape. Raises TypeError for bool.\n\n>>> engine.", name,
      "(engine.asarray([0.5, 1.0])).shape\n(2,)");
}

std::string predicate_doc(const char* name, const char* doc) {
  return concat_text(doc, ", elementwise.\n\nReturns a bool tensor of x's shape.\n\n>>> engine.",
                     name, "(engine.asarray([0.0, 1.0])).dtype\nbool");
}

std::string binary_doc(const char* name, const char* doc, const char* operands,
                       const char* result) {
  return concat_text(doc, ", elementwise with broadcasting.\n\nArgs:\n    x1, x2: ", operands,
                     "; one may be a Python number, which takes the other's dtype.\n\nReturns ",
                     result,
                     " Raises ValueError where the shapes do not broadcast.\n\n>>> engine.", name,
                     "(engine.asarray([1, 2]), 2).shape\n(2,)");
}

}  // namespace

void bind_operators(py::module_& m, TensorClass& cls) {
  enum { NUMBERS, FLOATS };
#define ZOO_UNARY(name, forward, gradient, saves, domain, doc) \
  def_both(m, cls, #name, &zoo::name, unary_doc(#name, doc, domain == FLOATS).c_str());
#define ZOO_PREDICATE(name, expression, doc) \
  def_both(m, cls, #name, &zoo::name, predicate_doc(#name, doc).c_str());
#define ZOO_PLAIN_BINARY(name, doc, operands, result)                                   \
  m.def(#name, binary_function(#name, &zoo::name), py::arg("x1"), py::arg("x2"),        \
        py::pos_only(),                                                                 \
        binary_doc(#name, doc, operands, result).c_str());
#define ZOO_BINARY(name, forward, ga, gb, saves, domain, doc)                           \
  ZOO_PLAIN_BINARY(name, doc, "tensors of numbers",                                     \
                   domain == FLOATS ? "floating point: integers become float32."        \
                                    : "the promoted dtype.")
#define ZOO_COMPARE(name, expression, doc) ZOO_PLAIN_BINARY(name, doc, "tensors", "bool.")
#define ZOO_BITWISE(name, expression, doc) \
  ZOO_PLAIN_BINARY(name, doc, "tensors of integers or bool", "the promoted dtype.")
#include "ops/pointwise.def"

  m.def("leaky_relu",
        [](const Tensor& x, double negative_slope) {
          OpScope scope;
          return leaky_relu(x, negative_slope);
        },
        py::arg("x"), py::arg("negative_slope") = 0.01,
        "x, or negative_slope * x where x is negative (Maas et al. 2013). Elementwise.\n\n"
        "Any shape; integers become float32.\n\n"
        ">>> engine.leaky_relu(engine.asarray([-1.0, 2.0]), 0.5).tolist()\n[-0.5, 2.0]");

  const auto arithmetic = [&](const char* name, const char* reflected, BinaryFn fn) {
    cls.def(name, operator_method<false>(fn), py::arg("other"), py::is_operator());
    cls.def(reflected, operator_method<true>(fn), py::arg("other"), py::is_operator());
  };
  arithmetic("__add__", "__radd__", &add);
  arithmetic("__sub__", "__rsub__", &subtract);
  arithmetic("__mul__", "__rmul__", &multiply);
  arithmetic("__truediv__", "__rtruediv__", &divide);
  arithmetic("__floordiv__", "__rfloordiv__", &floor_divide);
  arithmetic("__mod__", "__rmod__", &remainder);
  arithmetic("__pow__", "__rpow__", &power);
  arithmetic("__matmul__", "__rmatmul__", &matmul);
  arithmetic("__and__", "__rand__", &bitwise_and);
  arithmetic("__or__", "__ror__", &bitwise_or);
  arithmetic("__xor__", "__rxor__", &bitwise_xor);
  arithmetic("__lshift__", "__rlshift__", &bitwise_left_shift);
  arithmetic("__rshift__", "__rrshift__", &bitwise_right_shift);
  cls.def("__eq__", operator_method<false>(&equal), py::is_operator())
      .def("__ne__", operator_method<false>(&not_equal), py::is_operator())
      .def("__lt__", operator_method<false>(&less), py::is_operator())
      .def("__le__", operator_method<false>(&less_equal), py::is_operator())
      .def("__gt__", operator_method<false>(&greater), py::is_operator())
      .def("__ge__", operator_method<false>(&greater_equal), py::is_operator())
      .def("__neg__", as_op(&negative))
      .def("__abs__", as_op(&zoo::abs))
      .def("__pos__", [](const Tensor& t) { return t; })
      .def("__invert__", [](const Tensor& t) {
        OpScope scope;
        if (is_bool(t.dtype())) return logical_not(t);
        check<TypeError>(is_integral(t.dtype()), "~: expected integers or bool, got ",
                         dtype_name(t.dtype()));
        return bitwise_xor(t, full({}, -1, t.dtype()));
      });

  DirectOperator<&PyNumberMethods::nb_add, &add>::install("__add__", "__radd__");
  DirectOperator<&PyNumberMethods::nb_subtract, &subtract>::install("__sub__", "__rsub__");
  DirectOperator<&PyNumberMethods::nb_multiply, &multiply>::install("__mul__", "__rmul__");
  DirectOperator<&PyNumberMethods::nb_true_divide, &divide>::install("__truediv__", "__rtruediv__");
  DirectOperator<&PyNumberMethods::nb_matrix_multiply, &matmul>::install("__matmul__", "__rmatmul__");

  const struct {
    const char *op, *dunder, *method, *doc;
  } inplace[] = {
      {"add", "__iadd__", "add_", "Adds other to this tensor in place.\n\n"
                                  ">>> engine.ones(2).add_(2).tolist()\n[3.0, 3.0]"},
      {"subtract", "__isub__", "sub_", "Subtracts other from this tensor in place.\n\n"
                                       ">>> engine.ones(2).sub_(2).tolist()\n[-1.0, -1.0]"},
      {"multiply", "__imul__", "mul_", "Multiplies this tensor by other in place.\n\n"
                                       ">>> engine.ones(2).mul_(2).tolist()\n[2.0, 2.0]"},
      {"divide", "__itruediv__", "div_", "Divides this tensor by other in place.\n\n"
                                         ">>> engine.ones(2).div_(2).tolist()\n[0.5, 0.5]"},
      {"pow", "__ipow__", "pow_", "Raises this tensor to a power in place.\n\n"
                                  ">>> engine.full(2, 3.0).pow_(2).tolist()\n[9.0, 9.0]"},
      {"floor_divide", "__ifloordiv__", "floor_divide_",
          "Floor division in place.\n\n"
          ">>> engine.full(2, 7.0).floor_divide_(2).tolist()\n[3.0, 3.0]"},
      {"remainder", "__imod__", "remainder_", "Remainder in place.\n\n"
                                              ">>> engine.full(2, 7.0).remainder_(4).tolist()\n"
                                              "[3.0, 3.0]"},
      {"maximum", nullptr, "maximum_", "The larger of this tensor and other, in place.\n\n"
                                       ">>> engine.zeros(2).maximum_(1).tolist()\n[1.0, 1.0]"},
      {"minimum", nullptr, "minimum_", "The smaller of this tensor and other, in place.\n\n"
                                       ">>> engine.zeros(2).minimum_(-1).tolist()\n[-1.0, -1.0]"},
  };
  for (const auto& row : inplace) {
    cls.def(row.method, inplace_method(row.op), py::arg("other"), row.doc);
    if (row.dunder) cls.def(row.dunder, inplace_method(row.op), py::arg("other"), py::is_operator());
  }
  const auto copied_back = [&](const char* dunder, const char* op, BinaryFn fn) {
    cls.def(dunder, copied_back_method(op, fn), py::arg("other"), py::is_operator());
  };
  copied_back("__iand__", "bitwise_and", &bitwise_and);
  copied_back("__ior__", "bitwise_or", &bitwise_or);
  copied_back("__ixor__", "bitwise_xor", &bitwise_xor);
  copied_back("__ilshift__", "bitwise_left_shift", &bitwise_left_shift);
  copied_back("__irshift__", "bitwise_right_shift", &bitwise_right_shift);
  copied_back("__imatmul__", "matmul", &matmul);
}

}  // namespace zoo
