// Certified bounds of canonical scores from one scan of the codes; docs/theory.md has the proof.
#pragma once

#include <span>
#include <vector>

#include "search/engine.hpp"
#include "search/query.hpp"

namespace maxsieve {

// P_i - eps_i and P_i + eps_i of every candidate: the canonical score lies between them, always.
struct CertifiedBounds {
    static constexpr size_t kBytes = 2 * sizeof(double);  // of a candidate
    std::vector<double> lower, upper;
};

// Bounds for each query. All have the same candidates.
std::vector<CertifiedBounds> certified_bounds(const Engine& engine, std::span<const Query> queries);

}  // namespace maxsieve
