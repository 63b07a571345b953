#include "ops/packed.h"

#include <mutex>

namespace zoo {
namespace {

struct Packed : RefCounted {
  PackedKey key;
  size_t bytes;
  uint32_t version;
  Ref<Storage> copy;  // from the second use on

  Packed(const PackedKey& k, size_t b, uint32_t v) : key(k), bytes(b), version(v) {}
};

// One for all storages, and never waited for: whoever finds it taken does without a copy, so a
// child process may inherit it in any state.
std::mutex g_packed;

}  // namespace

Ref<Storage> packed_copy(const Tensor& t, const PackedKey& key, FunctionRef<size_t(void*)> pack) {
  const size_t bytes = pack(nullptr);
  if (bytes == 0) return {};
  Storage& storage = *t.storage();
  const std::unique_lock lock(g_packed, std::try_to_lock);
  if (!lock || storage.exposed()) return {};
  const uint32_t version = storage.version();
  auto* known = static_cast<Packed*>(storage.packed.get());
  if (known == nullptr || known->version != version || known->bytes != bytes ||
      known->key != key) {
    storage.packed = make_ref<Packed>(key, bytes, version);
    return {};
  }
  if (!known->copy) {
    auto copy = make_ref<Storage>(bytes, t.device());
    pack(copy->data());
    known->copy = std::move(copy);
  }
  return known->copy;
}

void forget_packed(const Tensor& t) {
  const std::unique_lock lock(g_packed, std::try_to_lock);
  if (lock && t.storage()->packed) t.storage()->packed = {};
}

}  // namespace zoo
