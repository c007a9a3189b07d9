// What tier 0 computes from dot products, written once for all ISAs; spec/codebook.py is the definition.
#pragma once

#include "compiler.hpp"
#include "kernels/kernel.hpp"
#include "numeric/vectors.hpp"

namespace maxsieve {
namespace {

// For each row of `real` numbers: the largest, and the first place where it is. Each lane keeps its first largest
// number. Of equal lanes, the lowest place wins.
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

// A table of bytes from rows of dot products, `apart` numbers each: (dot * length) * factor + 0.5, each operation
// rounded to float32, clamped to [0, 255], then truncated. Columns without a query token have the factor 0 and become
// 0. Narrowing to bytes is a plain loop over 32 numbers: compilers turn it into packing instructions, but a shorter
// loop into shuffles.
inline void generic_to_bytes(const int32_t* dots, int64_t apart, const float* length, const float* factor,
                             int64_t width, int64_t rows, uint8_t* __restrict table) {
    constexpr int64_t kTogether = 32;
    for (int64_t c = 0; c < rows; ++c, dots += apart) {
        for (int64_t first = 0; first < width; first += kTogether, table += kTogether) {
            uint32_t whole[kTogether];
            for (int64_t t = 0; t < kTogether; t += kLanes) {
                const F32x8 numbers = MAXSIEVE_CONVERT(load_lanes<I32x8>(dots + first + t, kLanes), F32x8) * length[c];
                F32x8 steps = numbers * load_lanes<F32x8>(factor + first + t, kLanes) + 0.5F;
                steps = steps > 0.0F ? steps : F32x8{};
                steps = steps < 255.0F ? steps : F32x8{} + 255.0F;
                const I32x8 truncated = MAXSIEVE_CONVERT(steps, I32x8);
                std::memcpy(whole + t, &truncated, sizeof truncated);
            }
            for (int64_t t = 0; t < kTogether; ++t) table[t] = static_cast<uint8_t>(whole[t]);
        }
    }
}

}  // namespace
}  // namespace maxsieve
