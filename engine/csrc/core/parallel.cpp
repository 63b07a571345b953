#include "core/parallel.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core/errors.h"

namespace zoo {
namespace {

thread_local bool tl_in_region = false;

void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A worker that finds nothing to do spins this often (some tens of microseconds) before it
// sleeps: regions that follow each other closely then start without a system call, and threads
// that decode pictures lose almost nothing.
constexpr int kSpins = 2000;
constexpr int kMostThreads = 1024;  // no machine has more that help; each takes memory

struct Job {
  FunctionRef<void(int64_t, int64_t)> body;
  int64_t begin, end, piece;
  std::atomic<int64_t> next{0};
  std::exception_ptr error;
  std::mutex error_mutex;

  void run() {
    const int64_t pieces = (end - begin + piece - 1) / piece;
    for (int64_t i = next.fetch_add(1, std::memory_order_relaxed); i < pieces;
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      const int64_t b = begin + i * piece;
      try {
        body(b, std::min(end, b + piece));
      } catch (...) {
        std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
      }
    }
  }
};

class Pool {
 public:
  explicit Pool(int workers) {
    threads_.reserve(workers);
    for (int i = 0; i < workers; ++i) {
      try {
        threads_.emplace_back([this] { work(); });
      } catch (const std::system_error&) {
        break;  // the system gives no more: fewer do the same, to the bit
      }
    }
  }

  ~Pool() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
      generation_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    for (auto& t : threads_) t.join();
  }

  int workers() const { return static_cast<int>(threads_.size()); }

  void run(Job& job) {
    {
      std::lock_guard lock(mutex_);
      job_ = &job;
      busy_.store(workers(), std::memory_order_relaxed);
      generation_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    tl_in_region = true;
    job.run();
    tl_in_region = false;
    // Workers usually end within the time of one piece.
    int spins = 0;
    while (busy_.load(std::memory_order_acquire) != 0) {
      if (++spins > kSpins) {
        std::this_thread::yield();
      } else {
        cpu_relax();
      }
    }
  }

 private:
  void work() {
    tl_in_region = true;
    uint64_t seen = 0;
    for (;;) {
      for (int i = 0; i < kSpins && generation_.load(std::memory_order_acquire) == seen; ++i) {
        cpu_relax();
      }
      if (generation_.load(std::memory_order_acquire) == seen) {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return generation_.load(std::memory_order_acquire) != seen; });
      }
      ++seen;
      if (stop_) return;
      job_->run();
      busy_.fetch_sub(1, std::memory_order_release);
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<uint64_t> generation_{0};
  std::atomic<int> busy_{0};
  std::atomic<bool> stop_{false};
  Job* job_ = nullptr;
  std::vector<std::thread> threads_;
};

int default_threads() {
  if (const char* text = std::getenv("ZOO_NUM_THREADS")) {
    const int n = std::atoi(text);
    if (n > 0) return std::min(n, kMostThreads);
  }
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

struct PoolState {
  std::mutex mutex;  // held while a region runs; a second caller runs its region serially
  std::unique_ptr<Pool> pool;
  std::atomic<int> threads{default_threads()};
};

// Replaced, never destroyed: in a forked child the old one's threads do not exist, and at exit
// other static objects may still compute.
PoolState* g_state = nullptr;
std::once_flag g_once;

PoolState& state() {
  std::call_once(g_once, [] {
    g_state = new PoolState;
    pthread_atfork(nullptr, nullptr, [] {
      auto* fresh = new PoolState;
      fresh->threads.store(g_state->threads.load());
      g_state = fresh;
      tl_in_region = false;
    });
  });
  return *g_state;
}

}  // namespace

int num_threads() { return state().threads.load(std::memory_order_relaxed); }

void set_num_threads(int n) {
  check(n >= 1 && n <= kMostThreads, "set_num_threads: expected at least 1 thread and at most ",
        kMostThreads, ", got ", n);
  auto& s = state();
  std::lock_guard lock(s.mutex);
  s.threads.store(n);
  s.pool.reset();
}

bool in_parallel_region() { return tl_in_region; }

void parallel_for(int64_t begin, int64_t end, int64_t grain,
                  FunctionRef<void(int64_t, int64_t)> body) {
  if (begin >= end) return;
  grain = std::max<int64_t>(1, grain);
  if (tl_in_region || end - begin <= grain) return body(begin, end);
  auto& s = state();
  const int threads = s.threads.load(std::memory_order_relaxed);
  std::unique_lock lock(s.mutex, std::defer_lock);
  if (threads == 1 || !lock.try_lock()) return body(begin, end);
  if (!s.pool) s.pool = std::make_unique<Pool>(threads - 1);
  // Many pieces a thread even out uneven pieces and cores: taking one costs an atomic addition. No
  // piece is smaller than the grain.
  const int64_t piece = std::max(grain, (end - begin) / (16 * threads));
  Job job{body, begin, end, piece, {}, {}, {}};
  s.pool->run(job);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace zoo
