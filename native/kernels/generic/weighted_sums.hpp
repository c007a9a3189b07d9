// Weighted sums of integer maxima, which are the proxies; written once for all ISAs. spec/certified.py is the
// definition, and `lane_sum` in spec/arithmetic.py gives the order.
#pragma once

#include "kernels/kernel.hpp"
#include "numeric/vectors.hpp"

namespace maxsieve {
namespace {

inline void add_weighted(const double* weights, const int32_t* maxima, int64_t count, WideLanes& lanes) {
    const F64x8 eight = load_lanes<F64x8>(weights, count);
    WideLanes weight;
    std::memcpy(&weight, &eight, sizeof weight);
    const WideLanes numbers = widen_lanes(load_lanes<I32x8>(maxima, count));
    for (int p = 0; p < kParts; ++p) lanes.part[p] += weight.part[p] * numbers.part[p];
}

inline void generic_weighted_sums(const double* weights, int64_t tokens, const int32_t* maxima, int64_t apart,
                                  int64_t count, double* sums) {
    for (int64_t i = 0; i < count; ++i, maxima += apart) {
        WideLanes lanes = {};
        int64_t t = 0;
        for (; t + kLanes <= tokens; t += kLanes) add_weighted(weights + t, maxima + t, kLanes, lanes);
        if (t < tokens) add_weighted(weights + t, maxima + t, tokens - t, lanes);
        sums[i] = fold(lanes);
    }
}

}  // namespace
}  // namespace maxsieve
