// Errors carry the values that were wrong. Bindings turn each kind into a Python exception.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace zoo {

// Wrong value or shape -> ValueError.
struct ValueError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Wrong dtype or kind of argument -> TypeError.
struct TypeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Index out of range -> IndexError.
struct IndexError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The graph cannot answer -> engine.AutogradError (a RuntimeError).
struct AutogradError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// No kernel, no device -> NotImplementedError.
struct NotImplemented : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The system refused memory -> MemoryError.
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class... Parts>
std::string concat_text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

template <class E = ValueError, class... Parts>
void check(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]] throw E(concat_text(parts...));
}

}  // namespace zoo
