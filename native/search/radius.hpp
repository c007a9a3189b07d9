// The factors of the bandit's radius: for sigma_i, and for the range of a row's values; spec/bounds.py is the
// definition.
#pragma once

#include <cstdint>

#include "search/bandit.hpp"

namespace maxsieve {

struct RadiusFactors {
    double on_sigma, on_range;
    int64_t degrees;  // the divisor of the sum of squares in sigma^2: n - 1 (paper) or n (serfling)
};

// After n of T tokens, for N candidates and at most `rounds` rounds. n must be at least 2: below that the radius is
// infinite.
RadiusFactors radius_factors(const BanditKnobs& knobs, int64_t n, int64_t tokens, int64_t candidates, int64_t rounds);

}  // namespace maxsieve
