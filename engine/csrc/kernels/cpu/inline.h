// Functions that must not remain calls: a loop around a call is not vectorised.
#pragma once

#define ZOO_INLINE inline __attribute__((always_inline))
// For lambdas; the attribute goes behind their parameters.
#define ZOO_ALWAYS __attribute__((always_inline))
