// Sums and norms rounded the safe way; spec/arithmetic.py is their definition.
#pragma once

#include <cstdint>

namespace maxsieve {

// Sum in lane order.
double lane_sum(const double* x, int64_t count);

// An upper bound of the norm, given the lane sum of d squares: the factor covers (d/8 + 4) roundings and its own.
double norm_up(double squares, int64_t d);

// The lane sum of squares of codes times their scale; `stride` is a multiple of eight.
double scaled_square(const int8_t* codes, int64_t stride, float scale);

// The nearest float with 17 significant bits, halves to even. Not for denormals.
float to_17_bits(float x);

// The smallest float not below x.
float up32(double x);

// Natural logarithm from correctly rounded operations alone, hence the same everywhere; C libraries' logs differ.
double portable_log(double x);

}  // namespace maxsieve
