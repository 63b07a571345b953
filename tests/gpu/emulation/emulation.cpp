// The scheduler of emulated threads, and memory of emulated devices. See cuda_runtime.h.
#include <cuda_runtime.h>

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define ZOO_UNWATCHED __attribute__((no_sanitize("thread")))
#else
#define ZOO_UNWATCHED
#endif

namespace zoo_emulation {
namespace {

[[noreturn]] void stop(const char* format, auto... values) {
  std::fprintf(stderr, "emulation: ");
  std::fprintf(stderr, format, values...);
  std::fprintf(stderr, "\n");
  std::abort();
}

// ---- memory of devices ---------------------------------------------------------------------------

constexpr size_t kAlign = 16;  // a block ends as near to a closed page as this allows
constexpr unsigned char kHead = 0xA5, kFresh = 0xFF;  // before a block, and in it: floats are NaN
constexpr int kDevices = 2;

struct Block {
  char* pages;
  size_t mapped;  // without the closed page behind
  size_t bytes;
  int device;
};

std::mutex& mutex() {
  static auto* m = new std::mutex;
  return *m;
}
std::map<char*, Block>& blocks() {
  static auto* b = new std::map<char*, Block>;
  return *b;
}
size_t g_used[kDevices] = {};
thread_local int tl_device = 0;
const char* volatile g_running = nullptr;  // the kernel that runs

size_t page_size() {
  static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}
size_t device_bytes() {
  static const size_t bytes = [] {
    const char* given = std::getenv("ZOO_EMULATION_BYTES");
    return given ? static_cast<size_t>(std::atoll(given)) : size_t{1} << 30;
  }();
  return bytes;
}

// Copies from pinned memory that were asked for and not made: with ZOO_EMULATION_UPLOADS=late they are
// made when something else happens to the device, as a GPU may. Who changes pinned memory too early
// then sees the wrong numbers.
struct Upload {
  void* to;
  const void* from;
  size_t bytes;
};
std::vector<Upload>& late_uploads() {
  static auto* u = new std::vector<Upload>;
  return *u;
}
std::map<const char*, size_t>& pinned() {
  static auto* p = new std::map<const char*, size_t>;
  return *p;
}
bool comes_late(const void* from) {
  static const bool late = [] {
    const char* given = std::getenv("ZOO_EMULATION_UPLOADS");
    return given != nullptr && std::strcmp(given, "late") == 0;
  }();
  const char* at = static_cast<const char*>(from);
  auto found = pinned().upper_bound(at);
  return late && found != pinned().begin() && at < (--found)->first + found->second;
}

// Device memory is closed to the host but while a kernel or a copy runs.
class Opened {
 public:
  Opened() : lock_(mutex()) {
    protect(PROT_READ | PROT_WRITE);
    for (const Upload& u : late_uploads()) std::memcpy(u.to, u.from, u.bytes);
    late_uploads().clear();
  }
  ~Opened() { protect(PROT_NONE); }

 private:
  static void protect(int access) {
    for (const auto& [data, b] : blocks()) mprotect(b.pages, b.mapped, access);
  }
  std::lock_guard<std::mutex> lock_;
};

struct sigaction g_before;

// Says what it is about, then lets whoever was there before deal with it.
void on_fault(int, siginfo_t* info, void*) {
  char text[400];
  const char* kernel = g_running;
  const int n =
      kernel ? std::snprintf(text, sizeof text,
                             "emulation: kernel %s, block (%u, %u, %u), thread (%u, %u, %u) touched "
                             "%p, which is no memory of the device\n",
                             kernel, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y,
                             threadIdx.z, info->si_addr)
             : std::snprintf(text, sizeof text,
                             "emulation: the host touched %p outside of kernels and copies: memory "
                             "of the device, perhaps\n",
                             info->si_addr);
  if (write(STDERR_FILENO, text, static_cast<size_t>(n)) < 0) _exit(139);
  sigaction(SIGSEGV, &g_before, nullptr);
}

void watch_faults() {
  static std::once_flag once;
  std::call_once(once, [] {
    // On a stack of its own: a fiber's own may be what ran over.
    static char stack[64 << 10];
    stack_t other{};
    other.ss_sp = stack;
    other.ss_size = sizeof stack;
    sigaltstack(&other, nullptr);
    struct sigaction action{};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &g_before);
  });
}

// ---- threads -------------------------------------------------------------------------------------

constexpr size_t kStack = size_t{256} << 10;

enum class State { kWaitsToStart, kRuns, kAtBlockBarrier, kAtWarpBarrier, kDone };

struct Fiber {
  ucontext_t context;
  char* stack;
  int thread = -1;
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
#endif
#if defined(__SANITIZE_THREAD__)
  void* tsan;
#endif
};

struct Thread {
  State state;
  Fiber* fiber;
  unsigned mask;
  const char* what;
};

// Of the block that runs.
struct {
  const char* name;
  zoo::FunctionRef<void()>* body;
  int threads, started;
  Thread thread[kMostThreads];
  int order[kMostThreads];  // in which threads start and go on
  uint64_t slots[kMostThreads];
  int current;
  Fiber* fibers[kMostThreads];
  int fiber_count, idle_count;
  Fiber* idle[kMostThreads];
  Fiber* running;
  ucontext_t scheduler;
  char* dynamic;
  uint3 index;
  dim3 size;
  char entered, left, met;  // addresses that stand for order in time
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack;
  const void* stack_bottom;
  size_t stack_size;
#endif
#if defined(__SANITIZE_THREAD__)
  void* tsan;
#endif
} g;

ZOO_UNWATCHED void happens_before(char* what) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(what);
#endif
}
ZOO_UNWATCHED void happens_after(char* what) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(what);
#endif
}

ZOO_UNWATCHED void make_current(int thread) {
  g.current = thread;
  const unsigned t = static_cast<unsigned>(thread);
  threadIdx = {t % g.size.x, t / g.size.x % g.size.y, t / (g.size.x * g.size.y)};
}

ZOO_UNWATCHED void to_scheduler() {
  Fiber* me = g.running;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&me->fake_stack, g.stack_bottom, g.stack_size);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(g.tsan, __tsan_switch_to_fiber_no_sync);
#endif
  swapcontext(&me->context, &g.scheduler);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(me->fake_stack, &g.stack_bottom, &g.stack_size);
#endif
}

ZOO_UNWATCHED void run_thread(Fiber* me) {
  const int thread = g.order[g.started++];
  me->thread = thread;
  g.thread[thread] = {State::kRuns, me, 0, nullptr};
  make_current(thread);
  happens_after(&g.entered);
  (*g.body)();
  happens_before(&g.left);
  g.thread[thread].state = State::kDone;
  me->thread = -1;
}

// A fiber starts one thread after the other until one waits at a barrier; only then is another
// fiber needed. For ThreadSanitizer each thread has its own.
ZOO_UNWATCHED void fiber_main() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &g.stack_bottom, &g.stack_size);
#endif
  for (;;) {
    Fiber* me = g.running;
    while (g.started < g.threads) {
      run_thread(me);
#if defined(__SANITIZE_THREAD__)
      break;
#endif
    }
#if !defined(__SANITIZE_THREAD__)
    g.idle[g.idle_count++] = me;
#endif
    to_scheduler();
  }
}

Fiber* make_fiber() {
  auto* f = new Fiber;
  const size_t guard = page_size();
  f->stack = static_cast<char*>(mmap(nullptr, kStack + guard, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (f->stack == MAP_FAILED) stop("no memory for the stack of a thread");
  mprotect(f->stack, guard, PROT_NONE);
  getcontext(&f->context);
  f->context.uc_stack.ss_sp = f->stack + guard;
  f->context.uc_stack.ss_size = kStack;
  f->context.uc_link = nullptr;
  makecontext(&f->context, fiber_main, 0);
#if defined(__SANITIZE_THREAD__)
  f->tsan = __tsan_create_fiber(0);
#endif
  g.fibers[g.fiber_count++] = f;
  return f;
}

ZOO_UNWATCHED void resume(Fiber* f) {
  g.running = f;
  if (f->thread >= 0) {
    g.thread[f->thread].state = State::kRuns;
    make_current(f->thread);
  }
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&g.fake_stack, static_cast<char*>(f->context.uc_stack.ss_sp),
                                 kStack);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(f->tsan, __tsan_switch_to_fiber_no_sync);
#endif
  swapcontext(&g.scheduler, &f->context);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(g.fake_stack, nullptr, nullptr);
#endif
}

// Threads that may go on now, into `ready`; how many.
ZOO_UNWATCHED int release(int* ready) {
  int live = 0, at_block = 0, count = 0;
  bool warp_ready[kMostThreads / 32] = {};
  for (int w = 0; w < g.threads; w += 32) {
    const int end = std::min(w + 32, g.threads);
    const Thread* first = nullptr;
    for (int i = w; i < end; ++i) {
      const Thread& t = g.thread[i];
      live += t.state != State::kDone;
      at_block += t.state == State::kAtBlockBarrier;
      if (t.state == State::kAtWarpBarrier && first == nullptr) first = &t;
    }
    if (first == nullptr) continue;
    bool all = true;
    for (int i = w; i < end; ++i) {
      const Thread& t = g.thread[i];
      if ((first->mask >> (i - w) & 1) == 0 || t.state == State::kDone) continue;
      all = all && t.state == State::kAtWarpBarrier;
    }
    warp_ready[w / 32] = all;
  }
  if (live == 0) return 0;
  const bool block_ready = at_block == live;
  for (int k = 0; k < g.threads; ++k) {
    const int i = g.order[k];
    const State s = g.thread[i].state;
    const bool goes = s == State::kAtBlockBarrier  ? block_ready
                      : s == State::kAtWarpBarrier ? warp_ready[i / 32]
                                                   : false;
    if (goes) ready[count++] = i;
  }
  if (count == 0) {
    stop("kernel %s, block (%u, %u, %u): threads wait for each other: %d of %d that have not ended "
         "are at __syncthreads(), the others elsewhere",
         g.name, blockIdx.x, blockIdx.y, blockIdx.z, at_block, live);
  }
  return count;
}

ZOO_UNWATCHED void run_block() {
  g.started = 0;
  for (int i = 0; i < g.threads; ++i) g.thread[i].state = State::kWaitsToStart;
  happens_before(&g.entered);
  int ready[kMostThreads];
  for (;;) {
    while (g.started < g.threads) {
#if defined(__SANITIZE_THREAD__)
      resume(g.started < g.fiber_count ? g.fibers[g.started] : make_fiber());
#else
      resume(g.idle_count > 0 ? g.idle[--g.idle_count] : make_fiber());
#endif
    }
    const int count = release(ready);
    if (count == 0) break;
    for (int i = 0; i < count; ++i) resume(g.thread[ready[i]].fiber);
  }
  happens_after(&g.left);
}

// 0 for the natural order, 1 for the reverse, other numbers shuffle.
unsigned order_seed() {
  static const unsigned seed = [] {
    const char* text = std::getenv("ZOO_EMULATION_ORDER");
    if (text == nullptr) return 0u;
    return std::strcmp(text, "reverse") == 0 ? 1u : static_cast<unsigned>(std::atoi(text));
  }();
  return seed;
}

void put_in_order(int* order, int n) {
  std::iota(order, order + n, 0);
  if (order_seed() == 1) std::reverse(order, order + n);
  if (order_seed() > 1) std::shuffle(order, order + n, std::mt19937(order_seed()));
}

ZOO_UNWATCHED void wait(State at, unsigned mask, const char* what) {
  Thread& me = g.thread[g.current];
  me.mask = mask;
  me.what = what;
  me.state = at;
  happens_before(&g.met);
  to_scheduler();
  happens_after(&g.met);
}

Block map_block(size_t bytes, int device) {
  const size_t page = page_size();
  const size_t wanted = std::max(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
  const size_t mapped = (wanted + page - 1) / page * page;
  void* pages = mmap(nullptr, mapped + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                     -1, 0);
  if (pages == MAP_FAILED) stop("no memory for a block of %zu bytes", bytes);
  Block b{static_cast<char*>(pages), mapped, bytes, device};
  mprotect(b.pages + mapped, page, PROT_NONE);
  char* data = b.pages + mapped - wanted;
  std::memset(b.pages, kHead, mapped - wanted);
  std::memset(data, kFresh, wanted);
#if defined(__SANITIZE_ADDRESS__)
  ASAN_POISON_MEMORY_REGION(b.pages, mapped - wanted);
  ASAN_POISON_MEMORY_REGION(data + bytes, wanted - bytes);
#endif
  return b;
}

char* data_of(const Block& b) {
  const size_t wanted = std::max(kAlign, (b.bytes + kAlign - 1) / kAlign * kAlign);
  return b.pages + b.mapped - wanted;
}

void unmap_block(const Block& b) {
#if defined(__SANITIZE_ADDRESS__)
  ASAN_UNPOISON_MEMORY_REGION(b.pages, b.mapped);
#endif
  mprotect(b.pages, b.mapped, PROT_READ);
  for (const char* p = b.pages; p < data_of(b); ++p) {
    if (static_cast<unsigned char>(*p) != kHead) {
      stop("something wrote %td bytes before a block of %zu bytes", data_of(b) - p, b.bytes);
    }
  }
  munmap(b.pages, b.mapped + page_size());
}

}  // namespace

void launch_body(const char* name, dim3 grid, dim3 block, size_t shared_bytes,
                 zoo::FunctionRef<void()> body) {
  const size_t threads = size_t{block.x} * block.y * block.z;
  const size_t count = size_t{grid.x} * grid.y * grid.z;
  if (threads == 0 || threads > kMostThreads || count == 0 || grid.y > 65535 || grid.z > 65535) {
    stop("kernel %s: a grid of (%u, %u, %u) blocks of (%u, %u, %u) threads cannot be launched", name,
         grid.x, grid.y, grid.z, block.x, block.y, block.z);
  }
  watch_faults();
  Opened opened;
  const Block shared = map_block(shared_bytes, 0);
  g.name = name;
  g.body = &body;
  g.threads = static_cast<int>(threads);
  g.size = block;
  g.dynamic = data_of(shared);
  blockDim = block;
  gridDim = grid;
  put_in_order(g.order, g.threads);
#if defined(__SANITIZE_THREAD__)
  g.tsan = __tsan_get_current_fiber();
#endif
  std::mt19937 shuffled(order_seed());
  g_running = name;
  for (size_t k = 0; k < count; ++k) {
    const size_t b = order_seed() == 0 ? k : count - 1 - k;
    blockIdx = {static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                static_cast<unsigned>(b / grid.x / grid.y)};
    std::memset(g.dynamic, kFresh, shared_bytes);
    run_block();
  }
  g_running = nullptr;
  unmap_block(shared);
}

ZOO_UNWATCHED void* dynamic_shared() { return g.dynamic; }
ZOO_UNWATCHED void block_barrier() { wait(State::kAtBlockBarrier, 0, "__syncthreads"); }
ZOO_UNWATCHED void warp_barrier(unsigned mask, const char* what) {
  if ((mask >> (g.current % 32) & 1) == 0) {
    stop("kernel %s: thread %d is at %s, but its mask %08x does not name it", g.name, g.current, what,
         mask);
  }
  wait(State::kAtWarpBarrier, mask, what);
}
ZOO_UNWATCHED int current_thread() { return g.current; }
ZOO_UNWATCHED int threads_in_block() { return g.threads; }
ZOO_UNWATCHED uint64_t* exchange_slots() { return g.slots; }

ZOO_UNWATCHED unsigned ballot(unsigned mask, bool truth) {
  const int me = g.current, first = me - me % 32;
  g.slots[me] = truth;
  warp_barrier(mask, "__ballot_sync");
  unsigned votes = 0;
  for (int i = first; i < std::min(first + 32, g.threads); ++i) {
    const bool counts = (mask >> (i - first) & 1) && g.thread[i].state != State::kDone;
    if (counts && g.slots[i]) votes |= 1u << (i - first);
  }
  warp_barrier(mask, "__ballot_sync");
  return votes;
}

}  // namespace zoo_emulation

using namespace zoo_emulation;

const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaError";
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : "invalid argument";
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = kDevices;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* index) {
  *index = tl_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int index) {
  if (index < 0 || index >= kDevices) return cudaErrorInvalidDevice;
  tl_device = index;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int index) {
  std::snprintf(p->name, sizeof p->name, "emulated GPU %d", index);
  p->totalGlobalMem = device_bytes();
  p->major = 8;
  p->minor = 0;
  p->multiProcessorCount = 4;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount            ? 4
           : attribute == cudaDevAttrComputeCapabilityMajor       ? 8
           : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? 166912
                                                                  : 0;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  std::lock_guard lock(mutex());
  *total_bytes = device_bytes();
  *free_bytes = device_bytes() - g_used[tl_device];
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** data, size_t bytes) {
  watch_faults();
  std::lock_guard lock(mutex());
  if (g_used[tl_device] + bytes > device_bytes()) return cudaErrorMemoryAllocation;
  const Block b = map_block(bytes, tl_device);
  mprotect(b.pages, b.mapped, PROT_NONE);
  g_used[tl_device] += bytes;
  blocks()[data_of(b)] = b;
  *data = data_of(b);
  return cudaSuccess;
}
cudaError_t cudaFree(void* data) {
  Opened();  // which waits for the device
  std::lock_guard lock(mutex());
  const auto found = blocks().find(static_cast<char*>(data));
  if (found == blocks().end()) stop("cudaFree of %p, which is no block of the device", data);
  g_used[found->second.device] -= found->second.bytes;
  unmap_block(found->second);
  blocks().erase(found);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** data, size_t bytes) {
  std::lock_guard lock(mutex());
  *data = std::malloc(bytes);
  pinned()[static_cast<char*>(*data)] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* data) {
  Opened opened;
  pinned().erase(static_cast<char*>(data));
  std::free(data);
  return cudaSuccess;
}

namespace {

// Whether [data, data + bytes) lies in one block of a device; stops where it only begins in one.
bool on_device(const void* data, size_t bytes, const char* what) {
  const char* at = static_cast<const char*>(data);
  for (const auto& [begin, b] : blocks()) {
    if (at < b.pages || at >= b.pages + b.mapped) continue;
    if (at < begin || at + bytes > begin + b.bytes) {
      stop("%s of %zu bytes runs out of a block of %zu bytes, at its byte %td", what, bytes, b.bytes,
           at - begin);
    }
    return true;
  }
  return false;
}

}  // namespace

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
  std::optional<Opened> opened;
  if (kind == cudaMemcpyHostToDevice && comes_late(from)) {
    late_uploads().push_back({to, from, bytes});
    return cudaSuccess;
  }
  opened.emplace();
  const bool to_device = on_device(to, bytes, "a copy"), from_device = on_device(from, bytes, "a copy");
  const bool fits = kind == cudaMemcpyDefault ||
                    (to_device == (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) &&
                     from_device == (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice));
  if (!fits) stop("a copy of kind %d between %p and %p, which lie elsewhere", kind, to, from);
  std::memmove(to, from, bytes);
  return cudaSuccess;
}
// How often the host has waited for the device.
static std::atomic<int64_t> g_waits;
extern "C" __attribute__((visibility("default"))) int64_t emulated_waits() { return g_waits; }
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  ++g_waits;
  Opened();
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  static char made;
  *event = reinterpret_cast<cudaEvent_t>(&made);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  return event == nullptr ? cudaErrorInvalidValue : cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  Opened();
  return event == nullptr ? cudaErrorInvalidValue : cudaSuccess;
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes,
                                cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}
cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t) {
  Opened opened;
  if (!on_device(data, bytes, "a memset")) stop("a memset of %p, which is not the device's", data);
  std::memset(data, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  static char streams[64];
  static int used = 0;
  *stream = reinterpret_cast<cudaStream_t>(&streams[used++ % 64]);
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int value) {
  return value <= 166912 ? cudaSuccess : cudaErrorInvalidValue;
}
