// The tables that sign_sums.hpp looks up, of one query token; `sign_sums` in spec/residual.py is the definition. Every
// operation is exact, but the rounding of a sum to whole steps.
#pragma once

#include "kernels/kernel.hpp"

namespace maxsieve {
namespace {

inline SignTables generic_sign_tables(const int8_t* codes, int64_t d, uint8_t* __restrict tables) {
    constexpr double kLargestSum = 125.0, kRounds = 0x1.8p52;
    constexpr int kPatterns = 16;
    int largest = 0;
    for (int64_t k = 0; k < d; k += 16) {  // rows of codes end with zeros
        int sum = 0;
        for (int i = 0; i < 16; ++i) sum += codes[k + i] < 0 ? -codes[k + i] : codes[k + i];
        largest = sum > largest ? sum : largest;
    }
    SignTables made{1.0F, 0.0, 0};
    if (largest > kLargestSum) made.step = static_cast<float>(largest / kLargestSum);
    const auto step = static_cast<double>(made.step);
    const double inverse = 1.0 / step;
    for (int64_t g = 0; g < sign_tables(d); ++g, codes += 4, tables += kPatterns) {
        double sums[kPatterns] = {static_cast<double>(-codes[0] - codes[1] - codes[2] - codes[3])};
        for (int i = 0; i < 4; ++i) {
            const double twice = 2.0 * codes[i];
            for (int p = 0; p < 1 << i; ++p) sums[p + (1 << i)] = sums[p] + twice;
        }
        double entries[kPatterns], most = 0.0, error = 0.0;
        for (int p = 0; p < kPatterns; ++p) entries[p] = (sums[p] * inverse + kRounds) - kRounds;
        for (int p = 0; p < kPatterns; ++p) {
            const double lost = sums[p] - entries[p] * step;
            most = entries[p] > most ? entries[p] : most;
            error = lost > error ? lost : error;  // a pattern and its opposite lose as much, with opposite signs
        }
        made.error += error;
        made.unsigned_by = static_cast<int16_t>(made.unsigned_by + static_cast<int>(most));
        for (int p = 0; p < kPatterns; ++p) tables[p] = static_cast<uint8_t>(static_cast<int>(entries[p] + most));
    }
    return made;
}

}  // namespace
}  // namespace maxsieve
