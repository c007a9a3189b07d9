// Tier 0: a proxy of each document from its tokens' centroids, two bytes a token; spec/codebook.py is the definition.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/engine.hpp"
#include "search/query.hpp"

namespace maxsieve {

struct Tier0 {
    std::vector<int32_t> proxies;  // of each candidate
    int64_t largest;               // no proxy is above it
    double table_seconds, scan_seconds;
    int64_t strips;  // of the query: for each, the centroids and all tokens are read
};

// The corpus must have a codebook.
Tier0 tier0(const Engine& engine, const Query& query);

// The candidates that are the first n by proxy (of equals, the first), ascending.
std::vector<int64_t> survivors(const Tier0& tier, std::span<const int64_t> candidates, int64_t n);

// The places, from 1, of some of the candidates in the list by proxy. `wanted` ascends.
std::vector<int64_t> ranks(const Tier0& tier, std::span<const int64_t> candidates, std::span<const int64_t> wanted);

}  // namespace maxsieve
