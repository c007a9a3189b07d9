// What multiplies sigma_i, the range of a row's values and eps_i in the bandit's radius; spec/bounds.py is the
// definition.
#pragma once

#include <cstdint>

#include "search/bandit.hpp"

namespace maxsieve {

struct RadiusFactors {
    double on_sigma, on_range;
    int64_t degrees;  // what the sum of squares is divided by in sigma^2: n - 1 (paper) or n (serfling)
};

// After n of T tokens, for N candidates and at most `rounds` rounds. For n <= 1 the radius is infinite: don't ask.
RadiusFactors radius_factors(const BanditKnobs& knobs, int64_t n, int64_t tokens, int64_t candidates, int64_t rounds);

}  // namespace maxsieve
