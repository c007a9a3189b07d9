// Quantising, written once for all ISAs; spec/quantiser.py is the definition.
//
// Two passes over a document: the first finds the largest magnitude, which gives the scale; the second computes codes
// and sums of squares. A row is read in blocks of 32 numbers, to which codes are padded. Without three measures,
// compilers make scalar code or keep the sums in memory: the eight float64 lanes are in vectors that fit the ISA's
// registers; all eight lanes are widened at once; narrowing to bytes is a plain loop.
#pragma once

#include "kernels/kernel.hpp"
#include "numeric/vectors.hpp"

namespace maxsieve {
namespace {

constexpr uint32_t kMagnitude = 0x7FFFFFFF;
constexpr uint32_t kLargestBits = 0x58800000;  // 2^50; the bits of NaN and infinity are larger
constexpr float kTiniest = 0x1p-100F;

// The bits of the largest magnitude. For non-negative floats, the order of the bits is the order of the numbers. They
// are compared as signed integers, which SSE2 can do.
inline uint32_t largest_magnitude_bits(const float* x, int64_t count) {
    int32_t largest = 0;
    for (int64_t i = 0; i < count; ++i) {
        uint32_t bits;
        std::memcpy(&bits, x + i, sizeof bits);
        const auto magnitude = static_cast<int32_t>(bits & kMagnitude);
        largest = magnitude > largest ? magnitude : largest;
    }
    return static_cast<uint32_t>(largest);
}

inline bool generic_all_valid(const float* numbers, int64_t count) {
    return largest_magnitude_bits(numbers, count) <= kLargestBits;
}

// For one row: the squares of the residual (what the codes lose), and of its numbers.
struct RowSquares {
    WideLanes residual, norm;
};

// Writes the codes of kCodeAlign numbers, and adds their squares to those of the row. Adding 1.5 * 2^23 rounds to an
// integer, ties to even, and leaves it in the low bits of the sum: |x * inverse| <= 127 (1 + 2^-22), so that the lowest
// byte is the code, in [-127, 127]. The residual is exact.
inline void quantise_aligned(const float* x, float inverse, double scale, int8_t* __restrict codes,
                             RowSquares& squares) {
    constexpr float kRounder = 12582912.0F;
    uint32_t shifted[kCodeAlign];
    for (int64_t k = 0; k < kCodeAlign; k += kLanes) {
        const F32x8 given = load_lanes<F32x8>(x + k, kLanes);
        const F32x8 sum = given * inverse + kRounder;
        std::memcpy(shifted + k, &sum, sizeof sum);
        const WideLanes wide = widen_lanes(given), rounded = widen_lanes(sum - kRounder);
        for (int p = 0; p < kParts; ++p) {
            const LanePart residual = wide.part[p] - rounded.part[p] * scale;
            squares.residual.part[p] += residual * residual;
            squares.norm.part[p] += wide.part[p] * wide.part[p];
        }
    }
    for (int64_t k = 0; k < kCodeAlign; ++k) codes[k] = static_cast<int8_t>(shifted[k]);
}

// Returns false if a value is not finite or is over 2^50. Rows of codes are `stride` apart, and zero after the first d.
inline bool generic_quantise(const float* rows, int64_t count, int64_t d, int64_t stride, int8_t* codes,
                             DocumentSquares* out) {
    const uint32_t bits = largest_magnitude_bits(rows, count * d);
    if (bits > kLargestBits) return false;
    float largest;
    std::memcpy(&largest, &bits, sizeof largest);
    const bool zero = largest < kTiniest;
    const float inverse = zero ? 0.0F : 127.0F / largest;
    *out = {zero ? 0.0F : largest / 127.0F, 0.0, 0.0};
    const auto scale = static_cast<double>(out->scale);
    const int64_t whole = d / kCodeAlign * kCodeAlign;
    for (int64_t j = 0; j < count; ++j) {
        const float* row = rows + j * d;
        int8_t* row_codes = codes + j * stride;
        RowSquares squares = {};
        for (int64_t k = 0; k < whole; k += kCodeAlign) {
            quantise_aligned(row + k, inverse, scale, row_codes + k, squares);
        }
        if (whole < d) {
            float rest[kCodeAlign] = {};
            std::memcpy(rest, row + whole, sizeof(float) * static_cast<size_t>(d - whole));
            quantise_aligned(rest, inverse, scale, row_codes + whole, squares);
        }
        const double residual = fold(squares.residual), norm = fold(squares.norm);
        out->residual = residual > out->residual ? residual : out->residual;
        out->norm = norm > out->norm ? norm : out->norm;
    }
    return true;
}

// Codes times their scale, in float32.
inline void generic_scale_codes(const int8_t* codes, float scale, int64_t count, int64_t d, int64_t stride,
                                float* rows) {
    for (int64_t j = 0; j < count; ++j, codes += stride, rows += d) {
        for (int64_t k = 0; k < d; ++k) rows[k] = static_cast<float>(codes[k]) * scale;
    }
}

}  // namespace
}  // namespace maxsieve
