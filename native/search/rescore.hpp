// The rescore: canonical scores of chosen documents for one query or several, on the engine's threads.
#pragma once

#include <span>
#include <vector>

#include "search/canonical.hpp"
#include "search/engine.hpp"
#include "search/query.hpp"

namespace maxsieve {

class Rescorer {
  public:
    Rescorer(const Engine& engine, std::span<const Query> queries);

    // [queries][positions], -infinity for empty documents; each document is read once for all the queries.
    std::vector<float> scores(std::span<const int64_t> positions);

    // [positions][tokens of the first query]: what its scores are the sums of.
    std::vector<float> cells(std::span<const int64_t> positions);

  private:
    // Calls use(place, document, scorers) for each position, on any thread.
    template <typename Use>
    void for_each(std::span<const int64_t> positions, const Use& use);

    const Engine& engine_;
    std::vector<Panels> panels_;
    std::vector<std::vector<CanonicalScorer>> scorers_;  // one a query for each worker, made when it first works
};

}  // namespace maxsieve
