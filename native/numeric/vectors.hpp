// Eight-lane vectors in the compiler's own vector extension: the same source becomes SSE2, AVX2, AVX-512 or NEON by the
// flags of the file that includes it. Everything here has internal linkage, because two files with different flags may
// include it and the linker must not take one's code for the other.
#pragma once

#include <cstdint>
#include <cstring>

#include "compiler.hpp"

namespace maxsieve {
namespace {

constexpr int kLanes = 8;

typedef float F32x8 MAXSIEVE_VECTOR(32);
typedef double F64x8 MAXSIEVE_VECTOR(64);
typedef int32_t I32x8 MAXSIEVE_VECTOR(32);
typedef int8_t I8x8 MAXSIEVE_VECTOR(8);

// Up to eight numbers, zeros behind them.
template <class Vector, class Number>
inline Vector load_lanes(const Number* from, int64_t count) {
    Vector lanes = {};
    if (count >= kLanes) {
        std::memcpy(&lanes, from, sizeof lanes);  // of a size the compiler knows: one load, not a call
    } else {
        std::memcpy(&lanes, from, sizeof(Number) * static_cast<size_t>(count));
    }
    return lanes;
}

// The written-down order of every float64 sum: lane l has added x[l], x[l + 8], ...; the lanes are folded in halves.
[[maybe_unused]] inline double fold(const F64x8& lanes) {
    const double a0 = lanes[0] + lanes[4], a1 = lanes[1] + lanes[5], a2 = lanes[2] + lanes[6], a3 = lanes[3] + lanes[7];
    return (a0 + a2) + (a1 + a3);
}

// Eight float64 lanes to add to, in vectors that the ISA has registers for: GCC keeps wider ones in memory.
#if defined(__AVX512F__)
constexpr int kPartLanes = 8;
#else
constexpr int kPartLanes = 4;
#endif
constexpr int kParts = kLanes / kPartLanes;
typedef double LanePart MAXSIEVE_VECTOR(sizeof(double) * kPartLanes);

struct WideLanes {
    LanePart part[kParts];
};

// Float32 or int32 lanes in float64. Widening all eight at once keeps compilers from doing it one by one.
template <class Vector>
inline WideLanes widen_lanes(const Vector& x) {
    const F64x8 wide = MAXSIEVE_CONVERT(x, F64x8);
    WideLanes lanes;
    std::memcpy(&lanes, &wide, sizeof lanes);
    return lanes;
}

[[maybe_unused]] inline double fold(const WideLanes& lanes) {
    F64x8 whole;
    std::memcpy(&whole, &lanes, sizeof whole);
    return fold(whole);
}

}  // namespace
}  // namespace maxsieve
