// Certified bounds of canonical scores, from one scan of the codes; docs/theory.md has the proof.
#pragma once

#include <span>
#include <vector>

#include "search/engine.hpp"
#include "search/query.hpp"

namespace maxsieve {

// P_i - eps_i and P_i + eps_i of every candidate. The canonical score always lies between them.
struct CertifiedBounds {
    static constexpr size_t kBytes = 2 * sizeof(double);  // for each candidate
    std::vector<double> lower, upper;
};

// Bounds for each query. All queries have the same candidates.
std::vector<CertifiedBounds> certified_bounds(const Engine& engine, std::span<const Query> queries);

}  // namespace maxsieve
