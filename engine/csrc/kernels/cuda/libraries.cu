#include "kernels/cuda/libraries.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>

#include "core/errors.h"

namespace zoo::cuda {
namespace {

struct Folders {
  std::mutex mutex;
  std::vector<std::string> list;
};

Folders& folders() {
  static auto* f = new Folders;
  return *f;
}

std::string version_text(int version) {
  return concat_text(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

}  // namespace

void set_library_folders(std::vector<std::string> list) {
  std::lock_guard lock(folders().mutex);
  folders().list = std::move(list);
}

bool libraries_required() {
  const char* value = std::getenv("ZOO_CUDA_REQUIRE_LIBRARIES");
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

std::string Library::try_open() {
  const std::string again = concat_text(". Install it again: pip install --force-reinstall '",
                                        needs_.package, "'");
  std::vector<std::string> list;
  {
    std::lock_guard lock(folders().mutex);
    list = folders().list;
  }
  for (const std::string& folder : list) {
    const std::string path = folder + "/" + needs_.file;
    if (access(path.c_str(), R_OK) != 0) continue;
    // Its own symbols stay its own; what it opens in turn finds libraries that are open by name.
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      return concat_text(needs_.name, " lies at ", path, " but cannot be opened: ", dlerror(),
                         again);
    }
    path_ = path;
    break;
  }
  if (handle_ == nullptr) {
    handle_ = dlopen(needs_.file, RTLD_NOW | RTLD_LOCAL);
    path_ = "system";
  }
  if (handle_ == nullptr) {
    std::string searched;
    for (const std::string& folder : list) searched += folder + ", ";
    return concat_text(needs_.name, " (", needs_.file, ") was not found in ", searched,
                       "the system's library folders. Install it: pip install '", needs_.package,
                       "'");
  }
  size_t (*read_version)() = nullptr;
  find(read_version, needs_.version_function);
  if (read_version == nullptr) return problem_;
  version_ = static_cast<int>(read_version());
  if (version_ < needs_.oldest || version_ >= needs_.below) {
    return concat_text(needs_.name, " at ", path_, " is version ", version_text(version_),
                       "; expected ", version_text(needs_.oldest), " or newer, and below ",
                       version_text(needs_.below), ". Install it: pip install '", needs_.package,
                       "'");
  }
  return {};
}

bool Library::open() {
  problem_ = try_open();
  return problem_.empty();
}

void* Library::symbol(const char* name) {
  void* found = handle_ == nullptr ? nullptr : dlsym(handle_, name);
  if (found == nullptr && problem_.empty()) {
    problem_ = concat_text(needs_.name, " at ", path_, " has no function ", name,
                           ". Install it again: pip install --force-reinstall '", needs_.package,
                           "'");
  }
  return found;
}

bool Library::usable() const {
  if (problem_.empty()) return true;
  if (libraries_required()) throw std::runtime_error(problem_);
  return false;
}

}  // namespace zoo::cuda
