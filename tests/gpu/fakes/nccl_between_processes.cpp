// Stands for NCCL where several processes train on emulated devices: what ranks exchange really goes
// from one to the other, through files in the folder that ZOO_FAKE_NCCL names. Sums of float32 and
// bfloat16, and broadcasts of anything. VERSION is what it says it is.
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "nccl_head.h"

namespace {

struct Group {
  int world, rank;
  std::string folder;
  long calls = 0;
};
constexpr size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};  // by number of the type
constexpr int kFloat32 = 7, kBFloat16 = 9, kFailed = 6, kRefused = 5;

std::string file_of(const Group& g, long call, int rank) {
  return g.folder + "-" + std::to_string(call) + "-" + std::to_string(rank);
}

// Hands something over, and takes what another rank did; false if that never comes.
bool give(const Group& g, const std::string& mine) {
  const std::string name = file_of(g, g.calls, g.rank), aside = name + ".part";
  std::ofstream(aside, std::ios::binary) << mine;
  return std::rename(aside.c_str(), name.c_str()) == 0;
}
bool take(const Group& g, int rank, std::string* theirs) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < until) {
    std::ifstream file(file_of(g, g.calls, rank), std::ios::binary);
    if (file) {
      theirs->assign(std::istreambuf_iterator<char>(file), {});
      return true;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return false;
}
std::string bytes_of(const void* from, size_t count) {
  std::string bytes(count, '\0');
  fakes::read(from, bytes.data(), count);
  return bytes;
}
void put(const std::string& bytes, void* to) { fakes::write(to, bytes.data(), bytes.size()); }
float number(const std::string& bytes, int dtype, size_t i) {
  uint32_t bits = 0;
  if (dtype == kFloat32) {
    std::memcpy(&bits, bytes.data() + 4 * i, 4);
  } else {  // the upper half of a float32
    std::memcpy(reinterpret_cast<char*>(&bits) + 2, bytes.data() + 2 * i, 2);
  }
  return std::bit_cast<float>(bits);
}
void set_number(std::string* bytes, int dtype, size_t i, float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if (dtype == kFloat32) {
    std::memcpy(bytes->data() + 4 * i, &bits, 4);
  } else {
    bits += 0x7fff + ((bits >> 16) & 1);  // to the nearest, ties to even
    std::memcpy(bytes->data() + 2 * i, reinterpret_cast<const char*>(&bits) + 2, 2);
  }
}
// All ranks have handed something over for this call, so they are done with the one before.
int done(Group* g) {
  if (g->calls > 0) std::remove(file_of(*g, g->calls - 1, g->rank).c_str());
  ++g->calls;
  return 0;
}

}  // namespace

FAKE int ncclGetUniqueId(Id* id) {
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->bytes, sizeof id->bytes, "%08x", std::random_device()());
  return 0;
}
FAKE int ncclCommInitRank(void** comm, int world, Id id, int rank) {
  const char* folder = std::getenv("ZOO_FAKE_NCCL");
  if (folder == nullptr) return kRefused;
  *comm = new Group{world, rank, std::string(folder) + "/" + id.bytes};
  return 0;
}
FAKE int ncclCommDestroy(void* comm) {
  delete static_cast<Group*>(comm);
  return 0;
}
FAKE int ncclCommAbort(void* comm) { return ncclCommDestroy(comm); }
FAKE int ncclCommGetAsyncError(void*, int* error) {
  *error = 0;
  return 0;
}
FAKE int ncclGroupStart() { return 0; }
FAKE int ncclGroupEnd() { return 0; }
FAKE int ncclAllReduce(const void* from, void* to, size_t count, int dtype, int op, void* comm,
                       void*) {
  auto* g = static_cast<Group*>(comm);
  if ((dtype != kFloat32 && dtype != kBFloat16) || op != 0) return kRefused;
  const size_t bytes = count * kBytes[dtype];
  if (!give(*g, bytes_of(from, bytes))) return kFailed;
  std::vector<float> total(count, 0.0f);
  for (int r = 0; r < g->world; ++r) {
    std::string theirs;
    if (!take(*g, r, &theirs) || theirs.size() != bytes) return kFailed;
    for (size_t i = 0; i < count; ++i) total[i] += number(theirs, dtype, i);
  }
  std::string sum(bytes, '\0');
  for (size_t i = 0; i < count; ++i) set_number(&sum, dtype, i, total[i]);
  put(sum, to);
  return done(g);
}
FAKE int ncclBroadcast(const void* from, void* to, size_t count, int dtype, int root, void* comm,
                       void*) {
  auto* g = static_cast<Group*>(comm);
  const size_t bytes = count * kBytes[dtype];
  if (!give(*g, g->rank == root ? bytes_of(from, bytes) : std::string())) return kFailed;
  for (int r = 0; r < g->world; ++r) {  // all, so that none is far behind
    std::string theirs;
    if (!take(*g, r, &theirs) || (r == root && theirs.size() != bytes)) return kFailed;
    if (r == root) put(theirs, to);
  }
  return done(g);
}
FAKE int ncclAllGather(const void*, void*, size_t, int, void*, void*) { return kRefused; }
FAKE int ncclReduceScatter(const void*, void*, size_t, int, int, void*, void*) { return kRefused; }
