#include "numeric/halves.hpp"

#include <algorithm>
#include <cstring>

#include "compiler.hpp"

namespace maxsieve {
namespace {

// Four lanes: this file is compiled for the oldest CPUs, whose vectors have 16 bytes.
typedef float F32x4 MAXSIEVE_VECTOR(16);
typedef int32_t I32x4 MAXSIEVE_VECTOR(16);

// A half has a sign, 5 bits of exponent (bias 15) and 10 bits of fraction. A normal half has the bits of the float,
// with another bias, rounded to drop the 13 lowest bits. A half below 2^-14 counts steps of 2^-24. Floats in [0.5, 1)
// have the same steps, so adding 0.5 rounds to them.
inline I32x4 halves_of(const F32x4& x) {
    constexpr int32_t kHalf = 0x3F000000;      // 0.5
    constexpr int32_t kNormal = 0x38800000;    // 2^-14
    constexpr int32_t kOverflow = 0x477FF000;  // 65520
    constexpr int32_t kInfinity = 0x7C00;
    constexpr int32_t kRounding = 0xFFF - ((127 - 15) << 23);
    I32x4 bits;
    std::memcpy(&bits, &x, sizeof bits);
    const I32x4 magnitude = bits & 0x7FFFFFFF;
    const I32x4 normal = (magnitude + ((magnitude >> 13 & 1) + kRounding)) >> 13;
    F32x4 small;
    std::memcpy(&small, &magnitude, sizeof small);
    small += 0.5F;
    I32x4 steps;
    std::memcpy(&steps, &small, sizeof steps);
    steps -= kHalf;
    const I32x4 finite = magnitude < kNormal ? steps : normal;
    const I32x4 rounded = magnitude < kOverflow ? finite : I32x4{} + kInfinity;
    return rounded | (bits >> 16 & 0x8000);
}

}  // namespace

void narrow(const float* floats, int64_t count, uint16_t* halves) {
    constexpr int64_t kSome = 32;
    float some[kSome] = {};
    int32_t wide[kSome];
    for (int64_t i = 0; i < count; i += kSome) {
        const int64_t now = std::min(kSome, count - i);
        const float* from = floats + i;
        if (now < kSome) {
            std::memcpy(some, from, sizeof(float) * static_cast<size_t>(now));
            from = some;
        }
        for (int64_t k = 0; k < kSome; k += 4) {
            F32x4 four;
            std::memcpy(&four, from + k, sizeof four);
            const I32x4 narrowed = halves_of(four);
            std::memcpy(wide + k, &narrowed, sizeof narrowed);
        }
        // Compilers turn this loop of constant length into a few packing instructions.
        uint16_t packed[kSome];
        for (int64_t k = 0; k < kSome; ++k) packed[k] = static_cast<uint16_t>(wide[k]);
        std::memcpy(halves + i, packed, sizeof(uint16_t) * static_cast<size_t>(now));
    }
}

}  // namespace maxsieve
