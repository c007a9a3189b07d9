// Checks the values of rows and, for cosine similarity, normalises them.
#pragma once

#include <cstdint>

#include "kernels/kernel.hpp"

namespace maxsieve {

// The first row with a value that is not finite or is over 2^50 in magnitude, or -1.
int64_t first_invalid_row(const Kernel& kernel, const float* rows, int64_t count, int64_t d);

// Divides each row by its norm, in place: in float64, with the norm in lane order, rounded to float32. A zero row stays
// zero.
void normalise(float* rows, int64_t count, int64_t d);

}  // namespace maxsieve
