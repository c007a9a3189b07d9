// Eight-lane vectors in the compiler's own vector extension: the same source becomes SSE2, AVX2, AVX-512 or NEON by the
// flags of the file that includes it. Everything here has internal linkage, because two files with different flags may
// include it and the linker must not take one's code for the other.
#pragma once

#include <cstdint>
#include <cstring>

namespace maxsieve {
namespace {

constexpr int kLanes = 8;

typedef float F32x8 __attribute__((vector_size(32)));
typedef double F64x8 __attribute__((vector_size(64)));
typedef int32_t I32x8 __attribute__((vector_size(32)));
typedef int8_t I8x8 __attribute__((vector_size(8)));

// Up to eight numbers, zeros behind them.
template <class Vector, class Number>
inline Vector load_lanes(const Number* from, int64_t count) {
    Vector lanes = {};
    std::memcpy(&lanes, from, sizeof(Number) * static_cast<size_t>(count < kLanes ? count : kLanes));
    return lanes;
}

// The written-down order of every float64 sum: lane l has added x[l], x[l + 8], ...; the lanes are folded in halves.
[[maybe_unused]] inline double fold(const F64x8& lanes) {
    const double a0 = lanes[0] + lanes[4], a1 = lanes[1] + lanes[5], a2 = lanes[2] + lanes[6], a3 = lanes[3] + lanes[7];
    return (a0 + a2) + (a1 + a3);
}

}  // namespace
}  // namespace maxsieve
