// The thread pool. One process-wide pool that survives fork(): a child starts with a fresh one.
#pragma once

#include <cstdint>

#include "core/function_ref.h"

namespace zoo {

// Number of threads a parallel region may use (the caller is one of them). Starts as
// ZOO_NUM_THREADS, or the number of processors this process may run on.
int num_threads();
void set_num_threads(int n);

// True inside a parallel_for body: nested regions run serially.
bool in_parallel_region();

// Calls body(b, e) on pieces that cover [begin, end) once each, on several threads. A piece holds
// at least `grain` indices (the last may hold fewer). Pieces may depend on the number of threads,
// so a body must not let its result depend on them: reductions split by fixed block sizes and
// treat one block as one index. An exception in a body is rethrown here after all pieces ended.
void parallel_for(int64_t begin, int64_t end, int64_t grain,
                  FunctionRef<void(int64_t, int64_t)> body);

}  // namespace zoo
