// What engine/sharing.py needs to put tensors over memory that processes share.
#include "bindings/bind.h"

namespace zoo {
namespace {

// Bytes of a numpy array as a tensor; strides and offset count elements.
Tensor tensor_over(const py::array& bytes, DType dtype, const std::vector<int64_t>& shape,
                   const std::vector<int64_t>& strides, int64_t offset) {
  const Tensor raw = to_tensor(bytes);
  check(raw.dtype() == DType::kU8 && raw.is_contiguous(), "expected a row of bytes, got ",
        describe(raw));
  Dims sizes(shape.begin(), shape.end()), steps(strides.begin(), strides.end());
  check(sizes.size() == steps.size(), "shape ", to_string(sizes), " and strides ",
        to_string(steps), " differ in length");
  int64_t first = offset, last = offset;
  for (int i = 0; i < sizes.size(); ++i) {
    check(sizes[i] >= 0, "a shape holds no negative sizes, got ", to_string(sizes));
    (steps[i] < 0 ? first : last) += steps[i] * std::max<int64_t>(0, sizes[i] - 1);
  }
  check(sizes.product() == 0 || (first >= 0 && (last + 1) * itemsize(dtype) <= raw.numel()),
        "a tensor of shape ", to_string(sizes), " reaches beyond ", raw.numel(), " bytes");
  return Tensor(make_ref<TensorImpl>(raw.storage(), dtype, sizes, steps, offset));
}

void adopt_memory(TensorImpl& self, const Tensor& other) {
  check(self.storage->use_count() == 1,
        "share_memory_: other tensors look at the same memory (views, or what a graph saved); "
        "share the tensor first and make views of it afterwards");
  check(self.shape == other.shape() && self.dtype == other.dtype(), "expected ",
        describe(Tensor(&self)), ", got ", describe(other));
  self.storage = other.storage();
  self.strides = other.strides();
  self.offset = other.offset();
}

}  // namespace

void bind_memory(py::module_& m) {
  m.def("_tensor_over", &tensor_over, py::arg("bytes"), py::arg("dtype"), py::arg("shape"),
        py::arg("strides"), py::arg("offset"), "A tensor over the bytes of a numpy array.");
  m.def("_given_away", [](const Tensor& t) { t.storage()->conceal(); }, py::arg("t"),
        "Promises that t's memory, which came from outside, is written to through tensors only.");
  m.def("_adopt_memory", &adopt_memory, py::arg("t"), py::arg("other"),
        "Makes t a tensor over other's memory.");
}

}  // namespace zoo
