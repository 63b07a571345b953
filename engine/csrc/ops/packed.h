// Weights in the order in which kernels read them, kept while they do not change.
#pragma once

#include <array>

#include "core/function_ref.h"
#include "core/tensor.h"

namespace zoo {

// What tells one order of one part of a storage from another.
using PackedKey = std::array<int64_t, 12>;

// The copy that `pack` writes of t. pack(null) only says how many bytes it would be, 0 for none.
// Nothing the first time it is asked for since t last changed, when a copy would cost more than it
// saves; nor if t's memory may be changed from outside, or another thread looks for a copy just now.
// The copy lies beside t's storage until that changes and this or forget_packed is called, or until
// it goes.
Ref<Storage> packed_copy(const Tensor& t, const PackedKey& key, FunctionRef<size_t(void*)> pack);
// Frees the copy, if there is one: t is about to change.
void forget_packed(const Tensor& t);

}  // namespace zoo
