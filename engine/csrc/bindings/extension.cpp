// The table of functions that extensions use: engine/include/zoo/abi.h.
#include "bindings/bind.h"
#include "core/parallel.h"
#include "zoo/abi.h"

namespace zoo {
namespace {

// Runs `f`; an exception becomes Python's, and the result `failed`.
template <class R, class F>
R guarded(R failed, F&& f) noexcept {
  try {
    return f();
  } catch (py::error_already_set& e) {
    e.restore();
  } catch (const TypeError& e) {
    py::set_error(PyExc_TypeError, e.what());
  } catch (const py::type_error& e) {
    py::set_error(PyExc_TypeError, e.what());
  } catch (const AutogradError& e) {
    py::set_error(py::module_::import("engine._C").attr("AutogradError"), e.what());
  } catch (const OutOfMemory& e) {
    py::set_error(PyExc_MemoryError, e.what());
  } catch (const std::exception& e) {
    py::set_error(PyExc_ValueError, e.what());
  }
  return failed;
}

int is_tensor(PyObject* object) { return zoo::is_tensor(py::handle(object)) ? 1 : 0; }

int view(PyObject* object, zoo_tensor_view* out) {
  return guarded(-1, [&] {
    const auto t = py::cast<Tensor>(py::handle(object));
    check_on_host("this extension", t);
    *out = {t.data(),  dtype_name(t.dtype()), t.shape().begin(),        t.strides().begin(),
            t.numel(), t.ndim(),              t.is_contiguous() ? 1 : 0};
    return 0;
  });
}

PyObject* make_empty(int32_t ndim, const int64_t* shape, const char* dtype) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    return py::cast(empty(Dims(shape, shape + ndim), dtype_from(py::str(dtype)))).release().ptr();
  });
}

PyObject* make_contiguous(PyObject* tensor) {
  return guarded(static_cast<PyObject*>(nullptr), [&] {
    return py::cast(contiguous(py::cast<Tensor>(py::handle(tensor)))).release().ptr();
  });
}

int will_change(PyObject* tensor, const char* operation) {
  return guarded(-1, [&] {
    const auto t = py::cast<Tensor>(py::handle(tensor));
    check_inplace(operation, t, false);
    t.storage()->bump_version();
    return 0;
  });
}

void run_parallel(int64_t begin, int64_t end, int64_t grain,
                  void (*body)(void*, int64_t, int64_t), void* context) {
  parallel_for(begin, end, grain, [&](int64_t b, int64_t e) { body(context, b, e); });
}

const zoo_extension_api kApi{ZOO_EXTENSION_VERSION, sizeof(zoo_extension_api), &is_tensor, &view,
                             &make_empty, &make_contiguous, &will_change, &run_parallel};

}  // namespace

void bind_extension(py::module_& m) {
  m.attr("_extension_api") =
      py::capsule(static_cast<const void*>(&kApi), ZOO_EXTENSION_CAPSULE);
}

}  // namespace zoo
