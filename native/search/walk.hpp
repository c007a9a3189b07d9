// Walking lists: a proxy of each document from the lists of the centroids near the query; spec/lists.py is the
// definition.
#pragma once

#include <cstdint>
#include <vector>

#include "search/engine.hpp"
#include "search/near_centroids.hpp"
#include "search/query.hpp"
#include "search/tier0.hpp"

namespace maxsieve {

// What a walk has read.
struct WalkCounts {
    int64_t centroids = 0, lists = 0, postings = 0;
    double near_seconds = 0.0, walk_seconds = 0.0;
};

// The first n candidates by proxy, in any order; fewer if not so many have a place.
struct WalkedFirst {
    std::vector<Placed> first;
    WalkCounts counts;
};

// The corpus must have lists. A candidate that has none yet has no place.
WalkedFirst walk_first(const Engine& engine, const Query& query, const WalkShape& shape, int64_t n);

// The proxies of all candidates.
Tier0 walk_all(const Engine& engine, const Query& query, const WalkShape& shape);

}  // namespace maxsieve
