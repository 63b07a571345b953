// The parts of the engine that threads share, driven hard: the allocator, the thread pool, reference
// counts. tests/sanitize.sh core builds it with sanitizers and runs it; alone it checks results.
//
//   core_stress [SECONDS a part] [SEED]
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/allocator.h"
#include "core/errors.h"
#include "core/parallel.h"
#include "core/ref.h"

namespace {

using Clock = std::chrono::steady_clock;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "core_stress: %s\n", what);
  std::_Exit(1);
}

struct Until {
  explicit Until(double seconds)
      : end(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(seconds))) {}
  bool over() const { return Clock::now() >= end; }
  Clock::time_point end;
};

struct Block {
  unsigned char* data;
  size_t bytes;
  unsigned char mark;
};

// Sizes around the limits between kinds of blocks, and in between.
size_t some_size(std::mt19937& dice) {
  constexpr size_t kEdges[] = {0, 1, 63, 64, 65, 4095, 4096, 4097, 65535, 65536, 65537, 1 << 20};
  if (dice() % 3 == 0) return kEdges[dice() % std::size(kEdges)];
  return dice() % (size_t{1} << (4 + dice() % 18));
}

void fill(const Block& block) { std::memset(block.data, block.mark, block.bytes); }

void check(const Block& block) {
  for (size_t i = 0; i < block.bytes; i += 1 + block.bytes / 64) {
    expect(block.data[i] == block.mark, "a block was written to by another");
  }
  expect(block.bytes == 0 || block.data[block.bytes - 1] == block.mark, "the end of a block");
}

// Blocks are taken and given back in any order, on threads of their own; the owner's mark stays.
void allocate_on_threads(double seconds, unsigned seed, int threads) {
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([=] {
      std::mt19937 dice(seed + t);
      std::vector<Block> held;
      for (const Until until(seconds); !until.over();) {
        if (held.size() < 64 && dice() % 2 == 0) {
          const size_t bytes = some_size(dice);
          Block block{static_cast<unsigned char*>(zoo::allocate(bytes)), bytes,
                      static_cast<unsigned char>(dice())};
          expect(reinterpret_cast<uintptr_t>(block.data) % zoo::kAlignment == 0, "alignment");
          fill(block);
          held.push_back(block);
        } else if (!held.empty()) {
          const size_t at = dice() % held.size();
          check(held[at]);
          zoo::deallocate(held[at].data, held[at].bytes);
          held[at] = held.back();
          held.pop_back();
        }
        if (dice() % 4096 == 0) zoo::empty_cache();
        if (dice() % 1024 == 0) zoo::memory_stats();
      }
      for (const Block& block : held) {
        check(block);
        zoo::deallocate(block.data, block.bytes);
      }
    });
  }
  for (auto& thread : all) thread.join();
  expect(zoo::memory_stats().allocated_bytes == 0, "bytes are held by nobody");
}

int64_t sum_in_parallel(int64_t count, int64_t grain) {
  std::atomic<int64_t> sum{0};
  zoo::parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    const zoo::Scratch scratch(static_cast<size_t>(end - begin) * sizeof(int64_t));
    auto* values = scratch.as<int64_t>();
    for (int64_t i = begin; i < end; ++i) values[i - begin] = i;
    int64_t part = 0;
    for (int64_t i = begin; i < end; ++i) part += values[i - begin];
    sum += part;
  });
  return sum;
}

// Regions begin on several threads at once, nest, throw, and change the number of threads.
void regions_at_once(double seconds, unsigned seed, int threads) {
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([=] {
      std::mt19937 dice(seed + t);
      for (const Until until(seconds); !until.over();) {
        const int64_t count = dice() % 5000, grain = 1 + dice() % 300;
        expect(sum_in_parallel(count, grain) == count * (count - 1) / 2, "a sum");
        if (dice() % 8 == 0) {
          std::atomic<int64_t> inner{0};
          zoo::parallel_for(0, 16, 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) inner += sum_in_parallel(100, 7);
          });
          expect(inner == 16 * 4950, "a region within a region");
        }
        if (dice() % 8 == 0) {
          bool thrown = false;
          try {
            zoo::parallel_for(0, 1000, 1, [&](int64_t begin, int64_t end) {
              if (begin <= 503 && 503 < end) throw std::runtime_error("on purpose");
            });
          } catch (const std::runtime_error&) {
            thrown = true;
          }
          expect(thrown, "an error of a region was lost");
        }
        if (t == 0 && dice() % 64 == 0) zoo::set_num_threads(1 + dice() % 5);
      }
    });
  }
  for (auto& thread : all) thread.join();
}

// A child that is forked while others allocate and compute can do both.
void fork_meanwhile(double seconds, unsigned seed) {
  std::atomic<bool> over{false};
  std::thread busy([&] {
    std::mt19937 dice(seed);
    while (!over) {
      const size_t bytes = some_size(dice);
      zoo::deallocate(zoo::allocate(bytes), bytes);
      sum_in_parallel(2000, 10);
    }
  });
  for (const Until until(seconds); !until.over();) {
    const pid_t child = fork();
    if (child == 0) {
      const bool right = sum_in_parallel(3000, 10) == 3000LL * 2999 / 2;
      std::_Exit(right ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a forked child failed");
  }
  over = true;
  busy.join();
}

struct Counted : zoo::RefCounted {
  explicit Counted(std::atomic<int64_t>& alive) : alive(alive) { ++alive; }
  ~Counted() override { --alive; }
  std::atomic<int64_t>& alive;
};

void references(double seconds, unsigned seed, int threads) {
  std::atomic<int64_t> alive{0};
  {
    std::vector<zoo::Ref<Counted>> shared;
    for (int i = 0; i < 16; ++i) shared.push_back(zoo::make_ref<Counted>(alive));
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        std::mt19937 dice(seed + t);
        std::vector<zoo::Ref<Counted>> own(8);
        for (const Until until(seconds); !until.over();) {
          auto& mine = own[dice() % own.size()];
          if (dice() % 2) {
            mine = shared[dice() % shared.size()];
          } else {
            mine = zoo::make_ref<Counted>(alive);
          }
          if (mine->try_retain()) mine->release();
        }
      });
    }
    for (auto& thread : all) thread.join();
  }
  expect(alive == 0, "an object outlived its references");
}

void too_much_memory() {
  for (const size_t bytes : {size_t{1} << 61, ~size_t{0}, ~size_t{0} - 4096}) {
    bool refused = false;
    try {
      zoo::allocate(bytes);
    } catch (const zoo::OutOfMemory&) {
      refused = true;
    }
    expect(refused, "more memory than there is was given");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2.0;
  const auto seed = static_cast<unsigned>(argc > 2 ? std::atoi(argv[2]) : 1);
  zoo::set_num_threads(4);
  too_much_memory();
  allocate_on_threads(seconds, seed, 4);
  references(seconds, seed, 4);
#if !defined(__SANITIZE_THREAD__)  // which does not follow a fork of several threads
  fork_meanwhile(seconds, seed);
#endif
  regions_at_once(seconds, seed, 3);
  std::puts("core_stress: all as it should be");
  return 0;
}
