// Quantising, once for all ISAs; spec/quantiser.py is its definition.
#pragma once

#include "kernels/kernel.hpp"
#include "numeric/vectors.hpp"

namespace maxsieve {
namespace {

constexpr uint32_t kMagnitude = 0x7FFFFFFF;
constexpr uint32_t kLargestBits = 0x58800000;  // 2^50; the bits of NaN and infinity are larger still
constexpr float kTiniest = 0x1p-100F;

// The bits of the largest magnitude: for non-negative floats the order of the bits is the order of the numbers.
inline uint32_t largest_magnitude_bits(const float* x, int64_t count) {
    uint32_t largest = 0;
    for (int64_t i = 0; i < count; ++i) {
        uint32_t bits;
        std::memcpy(&bits, x + i, sizeof bits);
        bits &= kMagnitude;
        largest = bits > largest ? bits : largest;
    }
    return largest;
}

struct RowSquares {
    double residual, norm;
};

// Codes of one row, and the lane sums of its squared residuals and numbers. Adding and subtracting 1.5 * 2^23 rounds to
// an integer, halves to even; |x * inverse| <= 127 (1 + 2^-22), so that no code leaves [-127, 127]. The residual is
// exact.
inline RowSquares quantise_row(const float* row, int64_t d, float inverse, float scale, int8_t* codes) {
    constexpr float kRounder = 12582912.0F;
    F64x8 residual_lanes = {}, norm_lanes = {};
    for (int64_t k = 0; k < d; k += kLanes) {
        const F32x8 x = load_lanes<F32x8>(row + k, d - k);
        const F32x8 rounded = (x * inverse + kRounder) - kRounder;
        const I8x8 code = __builtin_convertvector(__builtin_convertvector(rounded, I32x8), I8x8);
        std::memcpy(codes + k, &code, sizeof code);
        const F64x8 wide = __builtin_convertvector(x, F64x8);
        const F64x8 residual = wide - __builtin_convertvector(rounded, F64x8) * static_cast<double>(scale);
        residual_lanes += residual * residual;
        norm_lanes += wide * wide;
    }
    return {fold(residual_lanes), fold(norm_lanes)};
}

// False if a value is not finite or is over 2^50. Rows of codes are `stride` apart and zero behind d.
inline bool generic_quantise(const float* rows, int64_t count, int64_t d, int64_t stride, int8_t* codes,
                             DocumentSquares* out) {
    const uint32_t bits = largest_magnitude_bits(rows, count * d);
    if (bits > kLargestBits) return false;
    float largest;
    std::memcpy(&largest, &bits, sizeof largest);
    const bool zero = largest < kTiniest;
    const float inverse = zero ? 0.0F : 127.0F / largest;
    *out = {zero ? 0.0F : largest / 127.0F, 0.0, 0.0};
    for (int64_t j = 0; j < count; ++j) {
        int8_t* row_codes = codes + j * stride;
        std::memset(row_codes + d / kLanes * kLanes, 0, static_cast<size_t>(stride - d / kLanes * kLanes));
        const RowSquares squares = quantise_row(rows + j * d, d, inverse, out->scale, row_codes);
        out->residual = squares.residual > out->residual ? squares.residual : out->residual;
        out->norm = squares.norm > out->norm ? squares.norm : out->norm;
    }
    return true;
}

}  // namespace
}  // namespace maxsieve
