// Sums and norms rounded the safe way; spec/arithmetic.py is their definition.
#pragma once

#include <cstdint>

namespace maxsieve {

// Sum in lane order.
double lane_sum(const double* x, int64_t count);

// An upper bound of the norm, given the lane sum of d squares: the factor pays for (d/8 + 4) roundings and its own.
double norm_up(double squares, int64_t d);

// The smallest float not below x.
float up32(double x);

// Natural logarithm from correctly rounded operations alone, hence the same everywhere; C libraries' logs differ.
double portable_log(double x);

}  // namespace maxsieve
