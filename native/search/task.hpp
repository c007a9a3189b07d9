// What a policy works on: some queries with the same candidates, so that each document is read once for all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "search/engine.hpp"
#include "search/exchange.hpp"
#include "search/query.hpp"
#include "search/trace.hpp"

namespace maxsieve {

struct Task {
    const Engine& engine;
    std::span<const Query> queries;  // one or more
    int64_t k;
    Trace* trace;                  // where to write down what is done, if there is a single query; null for nowhere
    Exchange* exchange = nullptr;  // with the other members of a search over shards, for a single query; null if alone

    std::span<const int64_t> candidates() const { return queries.front().candidates; }

    // Runs work(i, engine) for each query: with all threads for a single one, side by side with one each for several.
    void for_each_query(const std::function<void(size_t i, const Engine& engine)>& work) const;
};

}  // namespace maxsieve
