#include "search/rescore.hpp"

#include <algorithm>

namespace maxsieve {

Rescorer::Rescorer(const Task& task)
    : task_(task),
      panels_(task.query.rows, task.query.tokens, task.corpus.d()),
      scorers_(static_cast<size_t>(task.crew.size())) {}

std::vector<float> Rescorer::scores(std::span<const int64_t> positions) {
    constexpr int64_t kGrain = 4;
    const auto count = static_cast<int64_t>(positions.size());
    std::vector<float> scores(positions.size());
    task_.crew.run((count + kGrain - 1) / kGrain, [&](int64_t piece, int worker) {
        auto& scorer = scorers_[static_cast<size_t>(worker)];
        if (!scorer) scorer = std::make_unique<CanonicalScorer>(task_.kernel, panels_, task_.interrupt);
        size_t hint = 0;
        for (int64_t i = piece * kGrain; i < std::min((piece + 1) * kGrain, count); ++i) {
            task_.interrupt.check();
            scores[static_cast<size_t>(i)] = scorer->score(task_.corpus.at(positions[static_cast<size_t>(i)], hint));
            require_finite(static_cast<double>(scores[static_cast<size_t>(i)]));
        }
    });
    return scores;
}

}  // namespace maxsieve
