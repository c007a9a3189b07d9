#include "numeric/rounding.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "compiler.hpp"
#include "numeric/vectors.hpp"

namespace maxsieve {

double lane_sum(const double* x, int64_t count) {
    F64x8 lanes = {};
    for (int64_t i = 0; i < count; i += kLanes) lanes += load_lanes<F64x8>(x + i, count - i);
    return fold(lanes);
}

double norm_up(double squares, int64_t d) {
    return std::sqrt(squares * (1.0 + static_cast<double>(d + 16) * 0x1p-52));
}

double scaled_square(const int8_t* codes, int64_t stride, float scale) {
    F64x8 lanes = {};
    for (int64_t k = 0; k < stride; k += kLanes) {
        I8x8 code;
        std::memcpy(&code, codes + k, sizeof code);
        const F64x8 coded = MAXSIEVE_CONVERT(code, F64x8) * static_cast<double>(scale);
        lanes += coded * coded;
    }
    return fold(lanes);
}

float to_17_bits(float x) {
    constexpr uint32_t kDropped = 0x7F, kHalf = 0x3F;
    const auto bits = std::bit_cast<uint32_t>(x);
    return std::bit_cast<float>((bits + kHalf + (bits >> 7 & 1)) & ~kDropped);
}

float up32(double x) {
    const float nearest = static_cast<float>(x);
    return static_cast<double>(nearest) < x ? std::nextafter(nearest, std::numeric_limits<float>::infinity()) : nearest;
}

double portable_log(double x) {
    int e = 0;
    double m = std::frexp(x, &e);
    if (m < 0.7071067811865476) {
        m *= 2.0;
        --e;
    }
    const double z = (m - 1.0) / (m + 1.0);
    const double square = z * z;
    double series = 0.0;
    for (int term = 11; term >= 0; --term) series = series * square + 1.0 / (2 * term + 1);
    return e * 0.6931471805599453 + 2.0 * z * series;
}

}  // namespace maxsieve
