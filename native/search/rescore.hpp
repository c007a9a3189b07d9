// The rescore: canonical scores of chosen documents, on the crew's threads.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "search/canonical.hpp"
#include "search/query.hpp"
#include "search/search.hpp"

namespace maxsieve {

class Rescorer {
  public:
    explicit Rescorer(const Task& task);

    // In the order of `positions`.
    std::vector<float> scores(std::span<const int64_t> positions);

  private:
    const Task& task_;
    Panels panels_;
    std::vector<std::unique_ptr<CanonicalScorer>> scorers_;  // one a worker, made when it first works
};

}  // namespace maxsieve
