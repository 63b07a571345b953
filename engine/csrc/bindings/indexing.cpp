// t[...] and t[...] = value.
#include "bindings/bind.h"

namespace zoo {
namespace {

Index slice_index(py::handle h, int64_t size) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(h.ptr(), &start, &stop, &step) < 0) throw py::error_already_set();
  const Py_ssize_t length = PySlice_AdjustIndices(size, &start, &stop, step);
  return {Index::Kind::kSlice, start, length, step, {}};
}

bool is_tensor_like(py::handle h) {
  return is_tensor(h) || py::isinstance<py::list>(h) ||
         py::isinstance<py::tuple>(h) || py::isinstance<py::array>(h) || PyBool_Check(h.ptr()) ||
         std::string_view(Py_TYPE(h.ptr())->tp_name).starts_with("numpy.bool");
}

// How many axes an entry consumes; needed before slices can be cut to an axis's size.
int axes_of(py::handle h) {
  if (h.is_none() || h.is(py::ellipsis())) return 0;
  if (!is_tensor_like(h)) return 1;
  if (PyBool_Check(h.ptr())) return 0;
  const Tensor t = to_tensor(h);
  return is_bool(t.dtype()) ? t.ndim() : 1;
}

std::vector<Index> parse_indices(const Tensor& t, py::handle key) {
  py::tuple entries = py::isinstance<py::tuple>(key) ? py::reinterpret_borrow<py::tuple>(key)
                                                     : py::make_tuple(key);
  int used = 0;
  for (py::handle h : entries) used += axes_of(h);
  std::vector<Index> out;
  int axis = 0;
  for (py::handle h : entries) {
    if (h.is_none()) {
      out.push_back({Index::Kind::kNewAxis, 0, 0, 1, {}});
    } else if (h.is(py::ellipsis())) {
      out.push_back({Index::Kind::kEllipsis, 0, 0, 1, {}});
      axis += std::max(0, t.ndim() - used);
    } else if (PySlice_Check(h.ptr())) {
      check<IndexError>(axis < t.ndim(), "index: too many indices for shape ",
                        to_string(t.shape()));
      out.push_back(slice_index(h, t.shape()[axis++]));
    } else if (is_tensor_like(h)) {
      Tensor index = to_tensor(h);
      // An empty list selects nothing, whatever dtype numpy gave it.
      if (index.numel() == 0 && is_floating(index.dtype())) index = astype(index, DType::kI64);
      axis += is_bool(index.dtype()) ? index.ndim() : 1;
      out.push_back({Index::Kind::kTensor, 0, 0, 1, index});
    } else if (PyIndex_Check(h.ptr())) {
      const Py_ssize_t i = PyNumber_AsSsize_t(h.ptr(), PyExc_IndexError);
      if (i == -1 && PyErr_Occurred()) throw py::error_already_set();
      out.push_back({Index::Kind::kInteger, i, 0, 1, {}});
      ++axis;
    } else {
      throw IndexError(concat_text(
          "index: expected integers, slices, None, ..., or tensors of integers or bool, got ",
          py::cast<std::string>(py::repr(h)).substr(0, 60)));
    }
  }
  return out;
}

}  // namespace

void bind_indexing(TensorClass& cls) {
  cls.def("__getitem__", [](const Tensor& t, py::handle key) {
    const std::vector<Index> indices = parse_indices(t, key);
    OpScope scope;
    return index(t, indices);
  });
  cls.def("__setitem__", [](const Tensor& t, py::handle key, py::handle value) {
    const std::vector<Index> indices = parse_indices(t, key);
    auto operand = to_operand(value, t);
    if (!operand) operand = to_tensor(value, t.dtype());
    OpScope scope;
    set_index(t, indices, *operand);
  });
  cls.def("__iter__", [](const py::object& self) {
    const Tensor t(self.cast<TensorImpl*>());
    check<TypeError>(t.ndim() > 0, "iteration over a 0-d tensor");
    py::list rows;
    for (int64_t i = 0; i < t.shape()[0]; ++i) rows.append(self[py::int_(i)]);
    return py::iter(rows);
  });
}

}  // namespace zoo
