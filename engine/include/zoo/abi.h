// The functions that engine._C gives to extensions: a table of plain C, found through the capsule
// engine._C._extension_api. Fields are only ever added at the end; `version` changes if one changes
// its meaning. zoo/extension.h wraps it for C++.
#pragma once

#include <stdint.h>

#define ZOO_EXTENSION_CAPSULE "zoo.extension_api"
#define ZOO_EXTENSION_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

struct _object;  // PyObject

// A tensor on the CPU as it lies in memory. The pointers are good while the tensor lives.
typedef struct {
  void* data;              // the first element
  const char* dtype;       // "float32", "int64", "bool", ...: the name that Python shows
  const int64_t* shape;    // ndim sizes
  const int64_t* strides;  // ndim steps, in elements
  int64_t numel;
  int32_t ndim;
  int32_t is_contiguous;  // row-major without gaps
} zoo_tensor_view;

// Functions that return int give 0, or -1 with a Python exception set; those that return an object
// a new reference, or NULL with an exception set. All but parallel_for need Python's lock.
typedef struct {
  uint32_t version;
  uint32_t size;  // of this struct, in the module that made it
  int (*is_tensor)(struct _object* object);  // 1 or 0
  int (*view)(struct _object* tensor, zoo_tensor_view* out);
  struct _object* (*empty)(int32_t ndim, const int64_t* shape, const char* dtype);
  struct _object* (*contiguous)(struct _object* tensor);  // itself, if it is so already
  // Call before writing to a tensor that the extension did not make: refuses read-only memory and
  // leaves, and lets saved tensors notice the change.
  int (*will_change)(struct _object* tensor, const char* operation);
  // Calls body(context, b, e) on pieces of at least `grain` indices that cover [begin, end), on
  // the engine's threads. body must throw nothing and not touch Python.
  void (*parallel_for)(int64_t begin, int64_t end, int64_t grain,
                       void (*body)(void* context, int64_t begin, int64_t end), void* context);
} zoo_extension_api;

#ifdef __cplusplus
}
#endif
