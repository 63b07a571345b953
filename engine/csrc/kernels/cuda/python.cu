// What engine/cuda/kernels.py calls directly, beside the table of functions that the core takes.
#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/libraries.h"
#include "kernels/cuda/runtime.h"

#define ZOO_EXPORT extern "C" __attribute__((visibility("default")))

// Rounding of float32 products to TF32.
ZOO_EXPORT void zoo_cuda_allow_tf32(int allow) { zoo::cuda::allow_tf32(allow != 0); }

// This thread's kernels go to the device from here on; the stream that they are put into.
ZOO_EXPORT void* zoo_cuda_stream(int device) {
  zoo::cuda::use_device(device);
  return zoo::cuda::stream();
}

// Where NVIDIA's libraries lie, which Python knows: folders separated by ':'.
ZOO_EXPORT void zoo_cuda_set_library_folders(const char* folders) {
  std::vector<std::string> list;
  const std::string rest = folders;
  for (size_t at = 0; at <= rest.size();) {
    const size_t end = std::min(rest.find(':', at), rest.size());
    if (end > at) list.push_back(rest.substr(at, end - at));
    at = end + 1;
  }
  zoo::cuda::set_library_folders(std::move(list));
}
