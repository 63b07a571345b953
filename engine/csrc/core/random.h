// Counter-based random numbers: number i of a sequence is a pure function of the seed and i, so
// any thread, instruction set or device computes the same ones.
#pragma once

#include <cstdint>
#include <mutex>

#include "core/host_device.h"
#include "core/ref.h"

namespace zoo {

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): four
// random words from a 128-bit counter under a 64-bit key. Works on N counters at once, in place:
// c0 holds their lowest words.
template <int N>
[[gnu::always_inline]] ZOO_HOST_DEVICE inline void philox(uint32_t (&c0)[N], uint32_t (&c1)[N],
                                                          uint32_t (&c2)[N], uint32_t (&c3)[N],
                                                          uint64_t key) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < N; ++i) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * c0[i];
      const uint64_t p1 = uint64_t{0xCD9E8D57u} * c2[i];
      c0[i] = static_cast<uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<uint32_t>(p1);
      c2[i] = static_cast<uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<uint32_t>(p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

// A run of counters that one operation has for itself: offset, offset + 1, ...
struct RandomStream {
  uint64_t seed = 0;
  uint64_t offset = 0;
};

// Hands out streams. Safe to share between threads.
class Generator : public RefCounted {
 public:
  explicit Generator(uint64_t seed) : state_{seed, 0} {}

  // The next `counters` counters.
  RandomStream reserve(uint64_t counters);
  // Seed, and how many counters are used up: the whole state.
  RandomStream state() const;
  void set_state(RandomStream state);

 private:
  mutable std::mutex mutex_;
  RandomStream state_;
};

// Used where no generator is named. Its seed is 0 until manual_seed() says otherwise.
Generator& default_generator();

}  // namespace zoo
