// Marks what kernels of a GPU call too: nothing to a C++ compiler, both sides to nvcc.
#pragma once

#if defined(__CUDACC__)
#define ZOO_HOST_DEVICE __host__ __device__
#else
#define ZOO_HOST_DEVICE
#endif
