// Tier 0: a proxy of each document, from the centroids of its tokens (two bytes a token); spec/codebook.py is the
// definition.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/engine.hpp"
#include "search/exchange.hpp"
#include "search/query.hpp"

namespace maxsieve {

struct Tier0 {
    std::vector<int32_t> proxies;  // one for each candidate
    int64_t largest;               // no proxy is larger
    double table_seconds, scan_seconds;
    int64_t strips;  // number of strips of the query; each reads all centroids and all tokens
};

// The corpus must have a codebook.
Tier0 tier0(const Engine& engine, const Query& query);

// A place in the list by descending proxy. Of equal proxies, the document that was added first comes first.
struct Place {
    int32_t proxy;
    int64_t order;  // Corpus::order

    bool before(const Place& other) const { return proxy != other.proxy ? proxy > other.proxy : order < other.order; }
};

// The first n candidates of this list, in ascending order of position. With an exchange, it is the list of all members.
// The list must have more than n candidates.
std::vector<int64_t> survivors(const Tier0& tier, const Corpus& corpus, std::span<const int64_t> candidates, int64_t n,
                               Exchange* exchange);

// For each place: how many candidates come before it.
std::vector<int64_t> count_before(const Tier0& tier, const Corpus& corpus, std::span<const int64_t> candidates,
                                  std::span<const Place> places);

}  // namespace maxsieve
