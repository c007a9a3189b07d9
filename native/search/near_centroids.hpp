// The centroids near each query token, with the weights of their lists; spec/lists.py's `list_weights` is the
// definition.
#pragma once

#include <cstdint>
#include <vector>

#include "codebook/codebook.hpp"
#include "kernels/kernel.hpp"
#include "search/query.hpp"
#include "threads/crew.hpp"

namespace maxsieve {

// How lists are walked: the nearest `near` centroids of each query token, found in the nearest `opened` groups.
struct WalkShape {
    int64_t near, opened;
};

struct NearCentroid {
    uint32_t centroid;
    uint16_t token;   // from 1
    uint16_t weight;  // over 0
};

struct NearCentroids {
    std::vector<NearCentroid> all;  // by token; of one token, those with larger weights first
    int64_t scored = 0;             // heads and centroids whose similarity to a token was computed
};

// A query has at most this many tokens: then each has a number and a weight of its own in two bytes.
constexpr int64_t kMostWalkedTokens = 65535;

NearCentroids near_centroids(const Kernel& kernel, const Codebook& book, const QueryCodes& query,
                             const WalkShape& shape, Crew& crew);

}  // namespace maxsieve
