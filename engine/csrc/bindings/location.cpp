// Which line of the user's program an operation came from. A place is a code object and an
// instruction in it, interned as a number; the text is only made when a message needs it.
#include <unordered_map>

#include "bindings/bind.h"

namespace zoo {
namespace {

struct Place {
  PyCodeObject* code;
  int instruction;
  bool operator==(const Place&) const = default;
};
struct PlaceHash {
  size_t operator()(const Place& p) const {
    return std::hash<void*>()(p.code) * 31 + static_cast<size_t>(p.instruction);
  }
};

// Guarded by Python's lock. Code objects are kept alive: a program has a bounded number of them.
std::unordered_map<Place, uint32_t, PlaceHash> g_numbers;
std::vector<Place> g_places;
std::unordered_map<PyCodeObject*, bool> g_internal;
std::string* g_package_dir = nullptr;

// Frames of the engine's own Python files are skipped: the user wants their own line.
bool is_internal(PyCodeObject* code) {
  const auto found = g_internal.find(code);
  if (found != g_internal.end()) return found->second;
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  const bool internal = file && g_package_dir && std::string_view(file).starts_with(*g_package_dir);
  Py_INCREF(code);
  g_internal[code] = internal;
  return internal;
}

int instruction_of(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030b0000
  return PyFrame_GetLasti(frame);
#else
  return frame->f_lasti * 2;
#endif
}

std::string place_text(uint32_t number) {
  py::gil_scoped_acquire lock;
  const Place& p = g_places[number - 1];
  const char* file = PyUnicode_AsUTF8(p.code->co_filename);
  return concat_text(file ? file : "?", ":", PyCode_Addr2Line(p.code, p.instruction));
}

}  // namespace

void capture_location() {
  if (!grad_enabled()) return;
  PyThreadState* thread = PyThreadState_Get();
  PyFrameObject* frame = PyThreadState_GetFrame(thread);
  while (frame != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const bool internal = is_internal(code);
    Py_DECREF(code);  // the frame keeps it
    if (!internal) {
      const Place place{code, instruction_of(frame)};
      const auto [it, fresh] = g_numbers.try_emplace(place, 0);
      if (fresh) {
        g_places.push_back(place);  // is_internal has pinned the code object
        it->second = static_cast<uint32_t>(g_places.size());
      }
      set_current_location(it->second);
      Py_DECREF(frame);
      return;
    }
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  set_current_location(0);
}

void bind_location(py::module_& m) {
  m.def(
      "_set_package_dir",
      [](const std::string& dir) {
        delete g_package_dir;
        g_package_dir = new std::string(dir);
      },
      py::arg("path"), "Files below this folder are the engine's own: messages skip them.");
  set_location_text(&place_text);
}

}  // namespace zoo
