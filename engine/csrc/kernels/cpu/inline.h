// Functions that must not remain calls: a loop around a call is not vectorised.
#pragma once

#include "core/host_device.h"

#define ZOO_INLINE ZOO_HOST_DEVICE inline __attribute__((always_inline))
// For lambdas; the attribute goes behind their parameters.
#define ZOO_ALWAYS __attribute__((always_inline))
