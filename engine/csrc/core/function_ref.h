// A borrowed callable: two words, no allocation. It must not outlive what it refers to.
#pragma once

#include <type_traits>

namespace zoo {

template <class Signature>
class FunctionRef;

template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
  [[gnu::always_inline]] FunctionRef(F&& f)  // NOLINT: implicit on purpose, as at call sites
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(args...);
        }) {}

  [[gnu::always_inline]] R operator()(Args... args) const { return call_(object_, args...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

}  // namespace zoo
