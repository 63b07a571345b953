// Tables of the attention kernels: constant-initialised, so that registration in any order works.
#include "kernels/attention.h"

namespace zoo {

constinit decltype(attention_kernel) attention_kernel("attention");
constinit decltype(attention_few_kernel) attention_few_kernel("attention");
constinit decltype(attention_grad_kernel) attention_grad_kernel("attention gradient");

}  // namespace zoo
