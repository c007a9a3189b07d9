// Plain C++ for any CPU. std::fma uses the hardware if the C library finds an instruction for it, and correct software
// otherwise.
//
// Overflow: |<y, c>| <= 127^2 * 4096 < 2^27, far inside int32.

#include <cmath>

#include "kernels/generic/add_cells.hpp"
#include "kernels/generic/cells.hpp"
#include "kernels/generic/group_largest.hpp"
#include "kernels/generic/lookup.hpp"
#include "kernels/generic/quantise.hpp"
#include "kernels/generic/residual.hpp"
#include "kernels/generic/row_dots.hpp"
#include "kernels/generic/sign_tables.hpp"
#include "kernels/generic/similarities.hpp"
#include "kernels/generic/weighted_sums.hpp"
#include "kernels/kernel.hpp"

namespace maxsieve {
namespace {

struct Scalar {
    using Register = float;
    static constexpr int kLanes = 1;
    static float zero() { return 0.0F; }
    static float load(const float* from) { return *from; }
    static void store(float* to, float x) { *to = x; }
    static float broadcast(const float* from) { return *from; }
    static float fma(float a, float b, float c) { return std::fma(a, b, c); }
    static float max(float a, float b) { return a < b ? b : a; }
};

size_t packed_bytes(int64_t tokens, int64_t stride) {
    return static_cast<size_t>(tokens * stride);
}

void pack(const int8_t* codes, int64_t tokens, int64_t stride, int8_t* packed) {
    std::memcpy(packed, codes, packed_bytes(tokens, stride));
}

int32_t dot_of(const int8_t* a, const int8_t* b, int64_t stride) {
    int32_t dot = 0;
    for (int64_t k = 0; k < stride; ++k) dot += static_cast<int32_t>(a[k]) * b[k];
    return dot;
}

void maxima(const int8_t* packed, int64_t tokens, int64_t stride, const CodeSpan* spans, int64_t count, int32_t* best,
            int8_t*) {
    for (int64_t s = 0; s < count; ++s, best += tokens) {
        for (int64_t j = 0; j < spans[s].rows; ++j) {
            for (int64_t t = 0; t < tokens; ++t) {
                const int32_t dot = dot_of(packed + t * stride, spans[s].codes + j * stride, stride);
                best[t] = dot > best[t] ? dot : best[t];
            }
        }
    }
}

void dots(const int8_t* packed, int64_t tokens, int64_t stride, const int8_t* rows, int64_t count, int32_t* out,
          int8_t*) {
    for (int64_t j = 0; j < count; ++j) {
        for (int64_t t = 0; t < tokens; ++t) *out++ = dot_of(packed + t * stride, rows + j * stride, stride);
    }
}

// A half has a sign, 5 bits of exponent (bias 15) and 10 bits of fraction. Shifted to a float's bits, its exponent is
// too small by 112. One exact multiplication corrects that, also for denormals. Infinity and NaN need their exponent
// set.
void widen(const uint16_t* halves, int64_t count, float* floats) {
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t magnitude = static_cast<uint32_t>(halves[i] & 0x7FFF) << 13;
        float x;
        std::memcpy(&x, &magnitude, sizeof x);
        x *= 0x1p112F;
        uint32_t bits;
        std::memcpy(&bits, &x, sizeof bits);
        if (magnitude >= 0x0F800000) bits |= 0x7F800000;
        bits |= static_cast<uint32_t>(halves[i] & 0x8000) << 16;
        std::memcpy(floats + i, &bits, sizeof bits);
    }
}

}  // namespace

const Kernel kScalar{
    .name = "scalar",
    .cells = generic_cells<Scalar>,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .maxima = maxima,
    .dots = dots,
    .row_dots = generic_row_dots,
    .add_cells = generic_add_cells,
    .group_largest = generic_group_largest,
    .first_largest = generic_first_largest,
    .to_bytes = generic_to_bytes,
    .lookup = generic_lookup,
    .weighted_sums = generic_weighted_sums,
    .quantise = generic_quantise,
    .all_valid = generic_all_valid,
    .widen = widen,
    .scale_codes = generic_scale_codes,
    .residual_maxima = generic_residual_maxima<dots>,
    .to_entries = generic_to_entries,
    .sign_tables = generic_sign_tables,
    .decode_residual = generic_decode_residual,
};

}  // namespace maxsieve
