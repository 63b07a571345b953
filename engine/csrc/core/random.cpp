#include "core/random.h"

namespace zoo {

RandomStream Generator::reserve(uint64_t counters) {
  std::lock_guard lock(mutex_);
  const RandomStream stream = state_;
  state_.offset += counters;
  return stream;
}

RandomStream Generator::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

void Generator::set_state(RandomStream state) {
  std::lock_guard lock(mutex_);
  state_ = state;
}

Generator& default_generator() {
  // Never destroyed: threads may still draw while static objects are.
  static Generator* const generator = [] {
    auto* made = new Generator(0);
    made->retain();
    return made;
  }();
  return *generator;
}

}  // namespace zoo
