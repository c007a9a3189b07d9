// The input of a policy: queries with the same candidates, so that each document is read once for all of them.
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
    Trace* trace;                  // records the steps of a single query; null for none
    Exchange* exchange = nullptr;  // with the other members of a search over shards, for a single query; null if alone

    std::span<const int64_t> candidates() const { return queries.front().candidates; }

    // Runs work(i, engine) for each query. A single query gets all threads. Several queries run at the same time, with
    // one thread each.
    void for_each_query(const std::function<void(size_t i, const Engine& engine)>& work) const;
};

}  // namespace maxsieve
