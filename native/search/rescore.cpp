#include "search/rescore.hpp"

#include <algorithm>

namespace maxsieve {

Rescorer::Rescorer(const Task& task, std::span<const Query> queries, Crew& crew)
    : task_(task), crew_(crew), scorers_(static_cast<size_t>(crew.size())) {
    for (const Query& query : queries) panels_.emplace_back(query.rows, query.tokens, task.corpus.d());
}

template <typename Use>
void Rescorer::for_each(std::span<const int64_t> positions, const Use& use) {
    constexpr int64_t kGrain = 4;
    const auto count = static_cast<int64_t>(positions.size());
    crew_.run((count + kGrain - 1) / kGrain, [&](int64_t piece, int worker) {
        auto& scorers = scorers_[static_cast<size_t>(worker)];
        if (scorers.empty()) {
            for (const Panels& panels : panels_) scorers.emplace_back(task_.kernel, panels, task_.interrupt);
        }
        size_t hint = 0;
        for (int64_t i = piece * kGrain; i < std::min((piece + 1) * kGrain, count); ++i) {
            use(static_cast<size_t>(i), task_.corpus.at(positions[static_cast<size_t>(i)], hint), scorers);
        }
    });
}

std::vector<float> Rescorer::scores(std::span<const int64_t> positions) {
    std::vector<float> scores(panels_.size() * positions.size());
    for_each(positions, [&](size_t i, const Document& document, std::vector<CanonicalScorer>& scorers) {
        for (size_t q = 0; q < scorers.size(); ++q) {
            task_.interrupt.check();
            float& score = scores[q * positions.size() + i];
            score = scorers[q].score(document);
            if (document.length > 0) require_finite(static_cast<double>(score));
        }
    });
    return scores;
}

std::vector<float> Rescorer::cells(std::span<const int64_t> positions) {
    const auto tokens = static_cast<size_t>(panels_.front().tokens());
    std::vector<float> cells(positions.size() * tokens);
    for_each(positions, [&](size_t i, const Document& document, std::vector<CanonicalScorer>& scorers) {
        task_.interrupt.check();
        std::ranges::copy(scorers.front().cells(document), cells.begin() + static_cast<std::ptrdiff_t>(i * tokens));
    });
    return cells;
}

}  // namespace maxsieve
