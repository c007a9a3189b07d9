// Rescoring: canonical scores of chosen documents for one or several queries, on the engine's threads.
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

    // [queries][positions], -infinity for empty documents. Each document is read once for all queries.
    std::vector<float> scores(std::span<const int64_t> positions);

    // [positions][tokens of the first query]: the cells, whose sums are the scores.
    std::vector<float> cells(std::span<const int64_t> positions);

  private:
    // Calls use(place, document, scorers) for each position, on any thread.
    template <typename Use>
    void for_each(std::span<const int64_t> positions, const Use& use);

    const Engine& engine_;
    std::vector<Panels> panels_;
    std::vector<std::vector<CanonicalScorer>> scorers_;  // for each worker one for each query, made for its first task
};

}  // namespace maxsieve
