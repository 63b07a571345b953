// Copies to a device that the host does not wait for: through pinned memory, from which the device
// fetches them by itself, in the order of the stream.
#include <array>
#include <cstring>
#include <mutex>

#include "kernels/cuda/launch.h"

namespace zoo::cuda {
namespace {

// Buffers of one size, used in turn. One is filled again when the device has fetched what was in it
// before; with so many of them it usually has.
template <size_t kBytes, int kBuffers>
class Ring {
 public:
  static constexpr size_t kSize = kBytes;

  void send(void* to, const void* from, size_t bytes) {
    Buffer& b = buffers_[next_];
    next_ = (next_ + 1) % kBuffers;
    if (b.data == nullptr) {
      check(cudaMallocHost(&b.data, kBytes), "asking for pinned memory");
      check(cudaEventCreateWithFlags(&b.fetched, cudaEventDisableTiming), "making an event");
    } else {
      check(cudaEventSynchronize(b.fetched), "a copy to the device");
    }
    std::memcpy(b.data, from, bytes);
    check(cudaMemcpyAsync(to, b.data, bytes, cudaMemcpyHostToDevice, stream()),
          "a copy to the device");
    check(cudaEventRecord(b.fetched, stream()), "a copy to the device");
  }

 private:
  struct Buffer {
    void* data = nullptr;
    cudaEvent_t fetched = nullptr;
  };
  std::array<Buffer, kBuffers> buffers_;
  int next_ = 0;
};

// Tables and numbers; and batches of pictures, in pieces, so that one is copied while the device
// fetches the one before.
struct Uploads {
  std::mutex mutex;
  Ring<size_t{64} << 10, 32> small;
  Ring<size_t{4} << 20, 8> large;
};

Uploads& uploads_of(int index) {
  static auto* all = new Uploads[kMostDevices];
  return all[index];
}

}  // namespace

void copy_to_device(void* to, const void* from, size_t bytes) {
  Uploads& uploads = uploads_of(current_device());
  std::lock_guard lock(uploads.mutex);
  if (bytes <= decltype(uploads.small)::kSize) {
    if (bytes > 0) uploads.small.send(to, from, bytes);
    return;
  }
  for (size_t done = 0; done < bytes;) {
    const size_t piece = std::min(bytes - done, decltype(uploads.large)::kSize);
    uploads.large.send(static_cast<char*>(to) + done, static_cast<const char*>(from) + done, piece);
    done += piece;
  }
}

}  // namespace zoo::cuda
