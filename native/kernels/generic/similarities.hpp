// What tier 0 makes of dot products, once for all ISAs; spec/codebook.py is the definition.
#pragma once

#include "kernels/kernel.hpp"
#include "numeric/vectors.hpp"

namespace maxsieve {
namespace {

typedef uint8_t U8x8 __attribute__((vector_size(8)));

// Of each row of `real` numbers the largest, and the first place where it stands. A lane keeps the first of its own
// equals; among lanes the lowest place wins.
inline void generic_first_largest(const int32_t* rows, int64_t apart, int64_t real, int64_t count, int32_t* largest,
                                  int32_t* place) {
    for (int64_t j = 0; j < count; ++j, rows += apart) {
        I32x8 best, at = {0, 1, 2, 3, 4, 5, 6, 7}, here = at;
        best = I32x8{} + INT32_MIN;
        int64_t c = 0;
        for (; c + kLanes <= real; c += kLanes, here += kLanes) {
            const I32x8 numbers = load_lanes<I32x8>(rows + c, kLanes);
            at = numbers > best ? here : at;
            best = numbers > best ? numbers : best;
        }
        int32_t most = best[0], first = at[0];
        for (int l = 1; l < kLanes; ++l) {
            if (best[l] > most || (best[l] == most && at[l] < first)) most = best[l], first = at[l];
        }
        for (; c < real; ++c) {
            if (rows[c] > most) most = rows[c], first = static_cast<int32_t>(c);
        }
        largest[j] = most, place[j] = first;
    }
}

// Eight columns: (dot * length) * factor + 0.5, each operation rounded to float32, cut to [0, 255], then truncated.
inline U8x8 steps_of(const int32_t* dots, float length, const float* factor) {
    const F32x8 numbers = __builtin_convertvector(load_lanes<I32x8>(dots, kLanes), F32x8);
    F32x8 steps = (numbers * length) * load_lanes<F32x8>(factor, kLanes) + 0.5F;
    steps = steps > 0.0F ? steps : F32x8{};
    steps = steps < 255.0F ? steps : F32x8{} + 255.0F;
    return __builtin_convertvector(__builtin_convertvector(steps, I32x8), U8x8);
}

// Rows of the table from rows of dot products, `apart` numbers each. Columns without a query token have the factor 0
// and become 0.
inline void generic_to_bytes(const int32_t* dots, int64_t apart, const float* length, const float* factor,
                             int64_t width, int64_t rows, uint8_t* table) {
    for (int64_t c = 0; c < rows; ++c, dots += apart, table += width) {
        for (int64_t t = 0; t < width; t += kLanes) {
            const U8x8 bytes = steps_of(dots + t, length[c], factor + t);
            std::memcpy(table + t, &bytes, sizeof bytes);
        }
    }
}

}  // namespace
}  // namespace maxsieve
