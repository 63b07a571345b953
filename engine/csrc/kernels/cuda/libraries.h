// NVIDIA's libraries, opened when something first needs them: nothing here is linked, so that the
// engine installs and starts without them. Only C++; no header of theirs is needed either.
#pragma once

#include <string>
#include <vector>

namespace zoo::cuda {

// Folders to search before the system's, first choice first. engine/cuda/libraries.py, which knows
// site-packages, says which; libraries that are open stay.
void set_library_folders(std::vector<std::string> folders);

// Whether to throw where a library is missing, instead of using slower kernels of our own: the
// environment variable ZOO_CUDA_REQUIRE_LIBRARIES is set and not 0.
bool libraries_required();

struct LibraryNeeds {
  const char* name;              // "cuBLASLt"
  const char* file;              // "libcublasLt.so.13"
  const char* package;           // what to install
  const char* version_function;  // returns major * 10000 + minor * 100 + patch as a size_t
  int oldest, below;             // versions that serve, as that number
};

// Opened by the first call of open(), from the folders or the system; once.
class Library {
 public:
  explicit constexpr Library(const LibraryNeeds& needs) : needs_(needs) {}

  // Whether it is there and serves; problem() says why not.
  bool open();
  // Its function; notes a problem where it has none of that name.
  template <class F>
  void find(F*& function, const char* name) {
    function = reinterpret_cast<F*>(symbol(name));
  }
  // True if it is open and every function was found. Otherwise false, or a std::runtime_error with
  // the problem where libraries are required.
  bool usable() const;

  const std::string& problem() const { return problem_; }
  const std::string& path() const { return path_; }
  int version() const { return version_; }

 private:
  void* symbol(const char* name);
  std::string try_open();

  LibraryNeeds needs_;
  void* handle_ = nullptr;
  int version_ = 0;
  std::string path_, problem_;
};

}  // namespace zoo::cuda
