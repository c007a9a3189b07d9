#include "index/normalise.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/generic/quantise.hpp"
#include "numeric/vectors.hpp"

namespace maxsieve {
namespace {

// Magnitudes are compared as signed integers, several in an instruction even on the oldest x86-64.
bool all_valid(const float* numbers, int64_t count) {
    uint32_t beyond = 0;
    for (int64_t k = 0; k < count; ++k) {
        const int32_t bits = std::bit_cast<int32_t>(numbers[k]) & 0x7FFFFFFF;
        beyond |= static_cast<uint32_t>(bits > static_cast<int32_t>(kLargestBits));
    }
    return beyond == 0;
}

}  // namespace

int64_t first_invalid_row(const float* rows, int64_t count, int64_t d) {
    if (all_valid(rows, count * d)) return -1;
    for (int64_t j = 0; j < count; ++j) {
        if (largest_magnitude_bits(rows + j * d, d) > kLargestBits) return j;
    }
    return -1;
}

void normalise(float* rows, int64_t count, int64_t d) {
    for (int64_t j = 0; j < count; ++j) {
        float* row = rows + j * d;
        F64x8 lanes = {};
        for (int64_t k = 0; k < d; k += kLanes) {
            const F64x8 wide = __builtin_convertvector(load_lanes<F32x8>(row + k, d - k), F64x8);
            lanes += wide * wide;
        }
        const double norm = std::sqrt(fold(lanes));
        if (norm == 0.0) continue;
        for (int64_t k = 0; k < d; ++k) row[k] = static_cast<float>(static_cast<double>(row[k]) / norm);
    }
}

}  // namespace maxsieve
