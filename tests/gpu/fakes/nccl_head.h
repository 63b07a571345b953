// What both stand-ins for NCCL begin with. VERSION is what they say they are.
#pragma once

#include "device_memory.h"

struct Id {
  char bytes[128];
};

FAKE int ncclGetVersion(int* version) {
  *version = VERSION;
  return 0;
}
FAKE const char* ncclGetErrorString(int status) {
  return status == 6 ? "remote process exited or there was a network error" : "invalid argument";
}
