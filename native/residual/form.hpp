// The form of a store of centroids and residual bits; spec/residual.py is the definition.
//
// A row of levels: with 1 or 2 bits, a plane of one bit for each number for each bit, the high bits first; number k is
// bit k % 8 of byte k / 8. With 4 bits, number k is half k % 2 of byte k / 2.
#pragma once

#include <cstdint>

#include "kernels/kernel.hpp"

namespace maxsieve {

// The most numbers of a row, so that the integers of a proxy stay below 2^31; kernels/generic/residual.hpp has the sum.
constexpr int64_t most_dim(int64_t bits) {
    return bits == 4 ? 2048 : 4096;
}

constexpr bool is_bits(int64_t bits) {
    return bits == 1 || bits == 2 || bits == 4;
}

// No centroid of a store is longer.
constexpr double kLongestCentroid = 2.0;

// The steps of the factors, and how far entries of the table are shifted.
ResidualSteps residual_steps(int64_t d, int64_t bits);

}  // namespace maxsieve
