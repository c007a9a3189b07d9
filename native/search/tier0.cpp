#include "search/tier0.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "search/ranges.hpp"
#include "search/similarity_strip.hpp"
#include "search/stopwatch.hpp"

namespace maxsieve {
namespace {

constexpr int64_t kMostDocumentsOfTier0 = 1024;  // in one task

// The n-th place of the list, which must have so many.
Place nth_place(const Tier0& tier, const Corpus& corpus, std::span<const int64_t> candidates, int64_t n) {
    std::vector<int64_t> counts(static_cast<size_t>(tier.largest) + 1, 0);
    for (const int32_t proxy : tier.proxies) ++counts[static_cast<size_t>(proxy)];
    auto lowest = static_cast<int32_t>(tier.largest);
    int64_t equals = n;  // how many candidates with the proxy `lowest` are among the first n
    while (equals > counts[static_cast<size_t>(lowest)]) equals -= counts[static_cast<size_t>(lowest--)];
    std::vector<int64_t> orders;
    size_t hint = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
        if (tier.proxies[i] == lowest) orders.push_back(corpus.order(candidates[i], hint));
    }
    const auto last = orders.begin() + (equals - 1);
    std::nth_element(orders.begin(), last, orders.end());
    return {lowest, *last};
}

// The same for the list of all members. Each of them offers its own first n.
Place nth_place_of_all(const Tier0& tier, const Corpus& corpus, std::span<const int64_t> candidates, int64_t n,
                       Exchange& exchange) {
    std::vector<int64_t> first(candidates.begin(), candidates.end());
    if (static_cast<int64_t>(candidates.size()) > n) first = survivors(tier, corpus, candidates, n, nullptr);
    std::vector<Placed> placed;
    size_t hint = 0, i = 0;
    for (const int64_t position : first) {
        while (candidates[i] != position) ++i;
        placed.push_back({{tier.proxies[i], corpus.order(position, hint)}, position});
    }
    return *last_of_all(placed, n, exchange);
}

}  // namespace

std::optional<Place> last_of_all(std::span<const Placed> first, int64_t n, Exchange& exchange) {
    Offer offer{Offer::Kind::kth, n, {}, std::vector<double>{}};
    for (const Placed& one : first) {
        offer.values.push_back(static_cast<double>(one.place.proxy));
        offer.orders->push_back(static_cast<double>(one.place.order));
    }
    const std::vector<double> last = exchange.share({std::move(offer)});
    if (!std::isfinite(last[0])) return std::nullopt;
    return Place{static_cast<int32_t>(last[0]), static_cast<int64_t>(last[1])};
}

Tier0 tier0(const Engine& engine, const Query& query) {
    const Corpus& corpus = engine.corpus;
    Stopwatch watch;
    Tier0 tier{std::vector<int32_t>(query.candidates.size()), 255 * query.tokens, 0.0, 0.0, 0};
    const std::vector<Range> tasks = ranges(corpus, query.candidates, engine.crew.size(), kMostDocumentsOfTier0);
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

std::vector<int64_t> survivors(const Tier0& tier, const Corpus& corpus, std::span<const int64_t> candidates, int64_t n,
                               Exchange* exchange) {
    const Place last = exchange == nullptr ? nth_place(tier, corpus, candidates, n)
                                           : nth_place_of_all(tier, corpus, candidates, n, *exchange);
    std::vector<int64_t> chosen;
    chosen.reserve(std::min(candidates.size(), static_cast<size_t>(n)));
    size_t hint = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
        const int32_t proxy = tier.proxies[i];
        if (proxy > last.proxy || (proxy == last.proxy && corpus.order(candidates[i], hint) <= last.order)) {
            chosen.push_back(candidates[i]);
        }
    }
    return chosen;
}

std::vector<int64_t> count_before(const Tier0& tier, const Corpus& corpus, std::span<const int64_t> candidates,
                                  std::span<const Place> places) {
    std::vector<size_t> sorted(places.size());
    std::iota(sorted.begin(), sorted.end(), size_t{0});
    std::ranges::sort(sorted, [&](size_t a, size_t b) { return places[a].before(places[b]); });
    // after[i]: candidates that come before the i-th of the sorted places, but not before the previous one
    std::vector<int64_t> after(places.size(), 0);
    if (places.empty()) return {};
    const int32_t lowest = std::max(0, places[sorted.back()].proxy);  // below 0: no place
    size_t hint = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
        if (tier.proxies[i] < lowest) continue;  // as most do
        const Place here{tier.proxies[i], corpus.order(candidates[i], hint)};
        const auto next = std::ranges::partition_point(sorted, [&](size_t p) { return !here.before(places[p]); });
        if (next != sorted.end()) ++after[static_cast<size_t>(next - sorted.begin())];
    }
    std::vector<int64_t> counts(places.size());
    int64_t count = 0;
    for (size_t i = 0; i < sorted.size(); ++i) counts[sorted[i]] = count += after[i];
    return counts;
}

}  // namespace maxsieve
