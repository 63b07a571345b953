// Stands for NCCL where kernels are emulated: a group whose other ranks all have what this one has.
// float32 sums only; every call is written down. VERSION is what it says it is.
#include <cstring>
#include <string>

#include "nccl_head.h"

namespace {

struct Group {
  int world, rank;
};

std::string& log() {
  static std::string text;
  return text;
}
bool g_broken = false;

int note(const std::string& line) {
  log() += line + "\n";
  return 0;
}
std::string call(const char* name, size_t count, int dtype, int op, const void* stream) {
  return std::string(name) + " count=" + std::to_string(count) + " dtype=" + std::to_string(dtype) +
         " op=" + std::to_string(op) + (stream == nullptr ? " no stream" : "");
}
void scaled(const void* from, void* to, size_t count, int64_t first, float factor) {
  for (size_t i = 0; i < count; ++i) {
    const auto k = static_cast<int64_t>(i);
    fakes::write<float>(to, k, fakes::read<float>(from, first + k) * factor);
  }
}
float factor_of(int op, const Group& g) { return op == 0 ? static_cast<float>(g.world) : 1.0f; }

}  // namespace

FAKE const char* fake_log() { return log().c_str(); }
FAKE void fake_break() { g_broken = true; }
FAKE int ncclGetUniqueId(Id* id) {
  std::memset(id, 0, sizeof *id);
  id->bytes[0] = 'k';
  id->bytes[127] = 'z';  // behind a zero, where strings end
  return 0;
}
FAKE int ncclCommInitRank(void** comm, int world, Id id, int rank) {
  if (id.bytes[0] != 'k' || id.bytes[127] != 'z') return 4;
  *comm = new Group{world, rank};
  return note("init " + std::to_string(rank) + " of " + std::to_string(world));
}
FAKE int ncclCommDestroy(void* comm) {
  delete static_cast<Group*>(comm);
  return note("destroy");
}
FAKE int ncclCommAbort(void* comm) {
  delete static_cast<Group*>(comm);
  return note("abort");
}
FAKE int ncclCommGetAsyncError(void*, int* error) {
  *error = g_broken ? 6 : 0;
  return 0;
}
FAKE int ncclGroupStart() { return note("start"); }
FAKE int ncclGroupEnd() { return note("end"); }
FAKE int ncclAllReduce(const void* from, void* to, size_t count, int dtype, int op, void* comm,
                       void* stream) {
  if (dtype == 7) scaled(from, to, count, 0, factor_of(op, *static_cast<Group*>(comm)));
  return note(call("all_reduce", count, dtype, op, stream));
}
FAKE int ncclBroadcast(const void*, void*, size_t count, int dtype, int root, void*, void* stream) {
  return note(call("broadcast", count, dtype, root, stream));
}
FAKE int ncclAllGather(const void* from, void* to, size_t count, int dtype, void* comm,
                       void* stream) {
  const Group& g = *static_cast<Group*>(comm);
  for (int r = 0; r < g.world && dtype == 7; ++r) {
    scaled(from, static_cast<float*>(to) + static_cast<size_t>(r) * count, count, 0, 1);
  }
  return note(call("all_gather", count, dtype, -1, stream));
}
FAKE int ncclReduceScatter(const void* from, void* to, size_t count, int dtype, int op, void* comm,
                           void* stream) {
  const Group& g = *static_cast<Group*>(comm);
  if (dtype == 7) {
    scaled(from, to, count, static_cast<int64_t>(count) * g.rank, factor_of(op, g));
  }
  return note(call("reduce_scatter", count, dtype, op, stream));
}
