#include "search/tier0.hpp"

#include <algorithm>

#include "search/ranges.hpp"
#include "search/similarity_strip.hpp"
#include "search/stopwatch.hpp"

namespace maxsieve {
namespace {

constexpr int64_t kMostDocuments = 1024;  // of a task

// For each proxy that there can be, how many candidates have a larger one.
std::vector<int64_t> count_larger(const Tier0& tier) {
    std::vector<int64_t> larger(static_cast<size_t>(tier.largest) + 1, 0);
    for (const int32_t proxy : tier.proxies) ++larger[static_cast<size_t>(proxy)];
    int64_t above = 0;
    for (size_t value = larger.size(); value-- > 0;) {
        const int64_t here = larger[value];
        larger[value] = above;
        above += here;
    }
    return larger;
}

}  // namespace

Tier0 tier0(const Engine& engine, const Query& query) {
    const Corpus& corpus = engine.corpus;
    Stopwatch watch;
    Tier0 tier{std::vector<int32_t>(query.candidates.size()), 255 * query.tokens, 0.0, 0.0, 0};
    const std::vector<Range> tasks = ranges(corpus, query.candidates, engine.crew.size(), kMostDocuments);
    std::vector<std::vector<CentroidSpan>> scratch(static_cast<size_t>(engine.crew.size()));
    const QueryCodes codes(engine.kernel, query.rows, query.tokens, corpus.d());
    SimilarityStrip strip(engine.kernel, corpus.codebook(), codes, engine.crew);
    for (int64_t first = 0, tokens = 0; (tokens = strip.fill(first)) > 0; first += tokens) {
        tier.table_seconds += watch.lap();
        ++tier.strips;
        engine.crew.run(static_cast<int64_t>(tasks.size()), [&](int64_t task, int worker) {
            const auto [begin, end] = tasks[static_cast<size_t>(task)];
            auto& spans = scratch[static_cast<size_t>(worker)];
            spans.clear();
            size_t hint = 0;
            for (int64_t i = begin; i < end; ++i) {
                const Document document = corpus.at(query.candidates[static_cast<size_t>(i)], hint);
                spans.push_back({document.centroids(), document.length()});
            }
            strip.add_to(spans.data(), end - begin, tier.proxies.data() + begin);
        });
        tier.scan_seconds += watch.lap();
    }
    return tier;
}

std::vector<int64_t> survivors(const Tier0& tier, std::span<const int64_t> candidates, int64_t n) {
    const std::vector<int64_t> larger = count_larger(tier);
    // The lowest proxy that survives: fewer than n candidates have a larger one. Of its equals the first go along.
    const auto lowest = static_cast<int32_t>(
        std::partition_point(larger.begin(), larger.end(), [&](int64_t above) { return above >= n; }) - larger.begin());
    int64_t equals = n - larger[static_cast<size_t>(lowest)];
    std::vector<int64_t> chosen;
    chosen.reserve(static_cast<size_t>(n));
    for (size_t i = 0; i < candidates.size(); ++i) {
        if (tier.proxies[i] > lowest || (tier.proxies[i] == lowest && equals-- > 0)) chosen.push_back(candidates[i]);
    }
    return chosen;
}

std::vector<int64_t> ranks(const Tier0& tier, std::span<const int64_t> candidates, std::span<const int64_t> wanted) {
    std::vector<int64_t> before = count_larger(tier), places;
    auto next = wanted.begin();
    for (size_t i = 0; i < candidates.size() && next != wanted.end(); ++i) {
        const int64_t place = ++before[static_cast<size_t>(tier.proxies[i])];
        if (candidates[i] != *next) continue;
        places.push_back(place);
        ++next;
    }
    return places;
}

}  // namespace maxsieve
