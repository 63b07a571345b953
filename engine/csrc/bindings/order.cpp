// Sorting, scans, picking and placing along one axis.
#include "bindings/bind.h"

namespace zoo {
namespace {

using OptDType = std::optional<DType>;

py::tuple pair(const Sorted& s) { return py::make_tuple(s.values, s.indices); }

void bind_sorting(py::module_& m) {
  m.def("sort",
        [](const Tensor& x, int64_t axis, bool descending, bool stable) {
          OpScope scope;
          return sort_along(x, axis, descending, false).values;
        },
        py::arg("x"), py::pos_only(), py::kw_only(), py::arg("axis") = -1,
        py::arg("descending") = false, py::arg("stable") = true,
        "The elements in order along an axis. Always stable; NaN counts as the largest.\n\n"
        "Raises IndexError for an axis out of range.\n\n"
        ">>> engine.sort(engine.asarray([3, 1, 2]))\nTensor([1, 2, 3], dtype=int64)");
  m.def("argsort",
        [](const Tensor& x, int64_t axis, bool descending, bool stable) {
          OpScope scope;
          return argsort(x, axis, descending);
        },
        py::arg("x"), py::pos_only(), py::kw_only(), py::arg("axis") = -1,
        py::arg("descending") = false, py::arg("stable") = true,
        "The positions, int64, that put the elements in order along an axis. Always stable; NaN "
        "counts as the largest.\n\n"
        ">>> engine.argsort(engine.asarray([3, 1, 2]))\nTensor([1, 2, 0], dtype=int64)");
  m.def("_topk",
        [](const Tensor& x, int64_t k, int64_t axis, bool largest) {
          Sorted s;
          {
            OpScope scope;
            s = topk(x, k, axis, largest);
          }
          return pair(s);
        },
        "The k largest or smallest elements along an axis and their positions.");
  m.def("_sort_with_indices",
        [](const Tensor& x, int64_t axis, bool descending) {
          Sorted s;
          {
            OpScope scope;
            s = sort_along(x, axis, descending, true);
          }
          return pair(s);
        },
        "The elements in order along an axis, and the positions they had.");
  def_op(m, "_searchsorted", &searchsorted, "Positions in a sorted tensor.");
  def_op(m, "_bincount", &bincount, "How often each integer from 0 on occurs.");
}

void bind_scans(py::module_& m) {
  const auto def_scan = [&](const char* name, Tensor (*fn)(const Tensor&, int64_t, OptDType),
                            const char* doc) {
    m.def(name,
          [fn](const Tensor& x, int64_t axis, OptDType dtype) {
            OpScope scope;
            return fn(x, axis, dtype);
          },
          py::arg("x"), py::pos_only(), py::arg("axis") = -1, py::kw_only(),
          py::arg("dtype") = py::none(), doc);
  };
  def_scan("cumsum", &cumsum,
           "Running sums along an axis: y[i] = x[0] + ... + x[i]. Small integers and bool give "
           "int64 or uint64 unless a dtype is named.\n\n"
           ">>> engine.cumsum(engine.asarray([1, 2, 3]))\nTensor([1, 3, 6], dtype=int64)");
  def_scan("cumprod", &cumprod,
           "Running products along an axis: y[i] = x[0] * ... * x[i]. Small integers and bool give "
           "int64 or uint64 unless a dtype is named. The gradient divides by nothing: zeros are "
           "fine.\n\n"
           ">>> engine.cumprod(engine.asarray([1, 2, 3]))\nTensor([1, 2, 6], dtype=int64)");
  const auto def_extreme = [&](const char* name, Sorted (*fn)(const Tensor&, int64_t),
                               const char* doc) {
    m.def(name,
          [fn](const Tensor& x, int64_t axis) {
            Sorted s;
            {
              OpScope scope;
              s = fn(x, axis);
            }
            return pair(s);
          },
          py::arg("x"), py::pos_only(), py::arg("axis") = -1, doc);
  };
  def_extreme("cummax", &cummax,
              "(values, indices): the largest element so far along an axis and its position, the "
              "last one of equals. NaN stays.\n\n"
              ">>> engine.cummax(engine.asarray([1, 3, 2]))[0]\nTensor([1, 3, 3], dtype=int64)");
  def_extreme("cummin", &cummin,
              "(values, indices): the smallest element so far along an axis and its position, the "
              "last one of equals. NaN stays.\n\n"
              ">>> engine.cummin(engine.asarray([3, 1, 2]))[0]\nTensor([3, 1, 1], dtype=int64)");
  m.def("logcumsumexp", as_op(&logcumsumexp), py::arg("x"), py::pos_only(), py::arg("axis") = -1,
        "log(exp(x[0]) + ... + exp(x[i])) along an axis, without overflow.\n\n"
        ">>> engine.logcumsumexp(engine.zeros(3)).shape\n(3,)");
  m.def("linear_scan", as_op(&linear_scan), py::arg("a"), py::arg("b"), py::pos_only(),
        py::arg("axis") = -1,
        "The recurrence y[i] = a[i] * y[i - 1] + b[i] along an axis, y[0] = b[0] (Blelloch, "
        "\"Prefix sums and their applications\", 1990). a and b broadcast.\n\n"
        ">>> engine.linear_scan(engine.full(3, 0.5), engine.ones(3))\n"
        "Tensor([1.  , 1.5 , 1.75], dtype=float32)");
}

void bind_along(py::module_& m) {
  m.def("gather", as_op(&gather), py::arg("x"), py::arg("axis"), py::arg("index"),
        "x[index] along one axis: y[i, j] = x[index[i, j], j] for axis 0. index has x's number of "
        "axes and off the axis at most its sizes; negative indices count from the end. Raises "
        "IndexError for an index out of range.\n\n"
        ">>> engine.gather(engine.asarray([[1, 2], [3, 4]]), 1, engine.asarray([[0], [1]]))\n"
        "Tensor([[1],\n        [4]], dtype=int64)");
  m.def("scatter",
        [](const Tensor& x, int64_t axis, const Tensor& index, py::handle source) {
          const auto value = to_operand(source, x);
          check<TypeError>(value.has_value(), "scatter: expected a tensor or a number to put");
          OpScope scope;
          return scatter(x, axis, index,
                         value->ndim() == 0 ? broadcast_to(to_device(*value, x.device()), index.shape())
                                            : *value);
        },
        py::arg("x"), py::arg("axis"), py::arg("index"), py::arg("source"),
        "A copy of x with source put at index along one axis: y[index[i, j], j] = source[i, j] for "
        "axis 0. Of equal indices the last one stays. source is a tensor of at least index's shape, "
        "or a number.\n\n"
        ">>> engine.scatter(engine.zeros(3), 0, engine.asarray([1]), 5.0)\n"
        "Tensor([0., 5., 0.], dtype=float32)");
  m.def("scatter_add", as_op(&scatter_add), py::arg("x"), py::arg("axis"), py::arg("index"),
        py::arg("source"),
        "A copy of x with source added at index along one axis: y[index[i, j], j] += source[i, j] "
        "for axis 0. Equal indices add up, in order, for any number of threads.\n\n"
        ">>> engine.scatter_add(engine.zeros(2), 0, engine.asarray([1, 1]), engine.ones(2))\n"
        "Tensor([0., 2.], dtype=float32)");
  m.def("polygamma",
        [](int64_t n, const Tensor& x) {
          check(n >= 0, "polygamma: expected an order of at least 0, got ", n);
          OpScope scope;
          return polygamma(x, static_cast<double>(n));
        },
        py::arg("n"), py::arg("x"), py::pos_only(),
        "The n-th derivative of digamma(x), elementwise (Abramowitz and Stegun, 6.4).\n\n"
        ">>> engine.polygamma(1, engine.ones(1)).shape\n(1,)");
}

}  // namespace

void bind_order(py::module_& m) {
  bind_sorting(m);
  bind_scans(m);
  bind_along(m);
}

}  // namespace zoo
