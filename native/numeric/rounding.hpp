// Sums in one fixed order, and norms rounded up; spec/arithmetic.py is the definition.
#pragma once

#include <cstdint>

namespace maxsieve {

// The sum in lane order.
double lane_sum(const double* x, int64_t count);

// An upper bound of the norm, given the lane sum of d squares. The factor covers (d/8 + 4) roundings and its own.
double norm_up(double squares, int64_t d);

// The lane sum of squares of codes times their scale; `stride` is a multiple of eight.
double scaled_square(const int8_t* codes, int64_t stride, float scale);

// The nearest float with 17 significant bits, ties to even. Not for denormals.
float to_17_bits(float x);

// The smallest float that is at least x.
float up32(double x);

// The natural logarithm, made only of correctly rounded operations, so it is equal everywhere. The logarithms of C
// libraries differ.
double portable_log(double x);

}  // namespace maxsieve
