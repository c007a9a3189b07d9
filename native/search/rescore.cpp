#include "search/rescore.hpp"

#include <algorithm>

#include "search/damage.hpp"

namespace maxsieve {

Rescorer::Rescorer(const Engine& engine, std::span<const Query> queries)
    : engine_(engine), scorers_(static_cast<size_t>(engine.crew.size())) {
    for (const Query& query : queries) panels_.emplace_back(query.rows, query.tokens, engine.corpus.d());
}

template <typename Use>
void Rescorer::for_each(std::span<const int64_t> positions, const Use& use) {
    constexpr int64_t kGrain = 4;
    const auto count = static_cast<int64_t>(positions.size());
    engine_.crew.run((count + kGrain - 1) / kGrain, [&](int64_t piece, int worker) {
        auto& scorers = scorers_[static_cast<size_t>(worker)];
        if (scorers.empty()) {
            for (const Panels& panels : panels_) scorers.emplace_back(engine_.kernel, panels, engine_.interrupt());
        }
        size_t hint = 0;
        for (int64_t i = piece * kGrain; i < std::min((piece + 1) * kGrain, count); ++i) {
            use(static_cast<size_t>(i), engine_.corpus.at(positions[static_cast<size_t>(i)], hint), scorers);
        }
    });
}

std::vector<float> Rescorer::scores(std::span<const int64_t> positions) {
    std::vector<float> scores(panels_.size() * positions.size());
    for_each(positions, [&](size_t i, const Document& document, std::vector<CanonicalScorer>& scorers) {
        for (size_t q = 0; q < scorers.size(); ++q) {
            engine_.interrupt().check();
            float& score = scores[q * positions.size() + i];
            score = scorers[q].score(document);
            if (document.length() > 0) require_finite(static_cast<double>(score));
        }
    });
    return scores;
}

std::vector<float> Rescorer::cells(std::span<const int64_t> positions) {
    const auto tokens = static_cast<size_t>(panels_.front().tokens());
    std::vector<float> cells(positions.size() * tokens);
    for_each(positions, [&](size_t i, const Document& document, std::vector<CanonicalScorer>& scorers) {
        engine_.interrupt().check();
        std::ranges::copy(scorers.front().cells(document), cells.begin() + static_cast<std::ptrdiff_t>(i * tokens));
    });
    return cells;
}

}  // namespace maxsieve
