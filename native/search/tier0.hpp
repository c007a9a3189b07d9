// Tier 0: a proxy of each document, from the centroids of its tokens (two bytes a token); spec/codebook.py is the
// definition.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/engine.hpp"
#include "search/exchange.hpp"
#include "search/query.hpp"

namespace maxsieve {

struct Tier0 {
    std::vector<int32_t> proxies;  // of each candidate; -1 for one that has no place in the list by proxy
    int64_t largest;               // no proxy is above it
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

// The place of the document at a position.
struct Placed {
    Place place;
    int64_t position;
};

// The candidates that are the first n in that list, in ascending order of position. With an exchange, n counts those of
// all members; there must be more than n in all.
std::vector<int64_t> survivors(const Tier0& tier, const Corpus& corpus, std::span<const int64_t> candidates, int64_t n,
                               Exchange* exchange);

// The n-th place in the list of all members, each of which gives its own first n, in any order; nothing if there are
// fewer than n in all.
std::optional<Place> last_of_all(std::span<const Placed> first, int64_t n, Exchange& exchange);

// How many candidates stand before each of some places.
std::vector<int64_t> count_before(const Tier0& tier, const Corpus& corpus, std::span<const int64_t> candidates,
                                  std::span<const Place> places);

}  // namespace maxsieve
