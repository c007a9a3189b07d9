// Vectors of eight lanes in the compiler's vector extension. The same source becomes SSE2, AVX2, AVX-512 or NEON, by
// the compiler flags of the file that includes it. Everything here has internal linkage. Otherwise the linker would
// merge the code of two files with different flags, and a CPU could meet instructions that it lacks.
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

// Loads up to eight numbers. The other lanes are zero.
template <class Vector, class Number>
inline Vector load_lanes(const Number* from, int64_t count) {
    Vector lanes = {};
    if (count >= kLanes) {
        std::memcpy(&lanes, from, sizeof lanes);  // the size is constant: one load, not a call
    } else {
        std::memcpy(&lanes, from, sizeof(Number) * static_cast<size_t>(count));
    }
    return lanes;
}

// The fixed order of every float64 sum: lane l adds x[l], x[l + 8], ...; then the lanes are folded in halves.
[[maybe_unused]] inline double fold(const F64x8& lanes) {
    const double a0 = lanes[0] + lanes[4], a1 = lanes[1] + lanes[5], a2 = lanes[2] + lanes[6], a3 = lanes[3] + lanes[7];
    return (a0 + a2) + (a1 + a3);
}

// Eight float64 lanes as vectors that fit the ISA's registers: GCC keeps wider ones in memory.
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

// Converts float32 or int32 lanes to float64, all eight at once: otherwise compilers convert them one by one.
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
