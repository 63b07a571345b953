#include "autograd/autocast.h"

namespace zoo {

AutocastDtypes& autocast_dtypes() {
  thread_local AutocastDtypes dtypes;
  return dtypes;
}

}  // namespace zoo
