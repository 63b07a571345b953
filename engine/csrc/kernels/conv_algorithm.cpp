#include "kernels/conv_algorithm.h"

#include <atomic>

namespace zoo {
namespace {

std::atomic<ConvAlgorithm> g_algorithm{ConvAlgorithm::kAuto};

}  // namespace

ConvAlgorithm conv_algorithm() { return g_algorithm.load(std::memory_order_relaxed); }

void set_conv_algorithm(ConvAlgorithm algorithm) {
  g_algorithm.store(algorithm, std::memory_order_relaxed);
}

}  // namespace zoo
