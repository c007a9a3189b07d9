#include "search/trace.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "numeric/permutation.hpp"

namespace maxsieve {
namespace {

// The sum of use(document) over the documents.
template <typename Use>
int64_t total(const Corpus& corpus, std::span<const int64_t> positions, const Use& use) {
    int64_t sum = 0;
    size_t hint = 0;
    for (const int64_t position : positions) sum += use(corpus.at(position, hint));
    return sum;
}

// Byte codes; or levels, two factors and two bytes that name the centroid.
int64_t bytes_of_codes_a_token(const Corpus& corpus) {
    const int64_t bits = corpus.residual_bits();
    return bits == 0 ? corpus.stride() : level_bytes(corpus.d(), bits) + 4;
}

}  // namespace

int64_t Trace::place(int64_t position) const {
    const auto found = std::lower_bound(shown.begin(), shown.end(), position);
    return found == shown.end() || *found != position ? -1 : found - shown.begin();
}

void Trace::begin_round(int64_t active, int64_t revealed, double threshold) {
    const std::vector<double> unknown(shown.size(), std::numeric_limits<double>::quiet_NaN());
    rounds.push_back({active, 0, revealed, threshold, unknown, unknown});
}

void Trace::interval(int64_t position, double lower, double upper, bool stays) {
    if (!stays) ++rounds.back().dropped;
    const int64_t at = place(position);
    if (at < 0) return;
    rounds.back().lower[static_cast<size_t>(at)] = lower;
    rounds.back().upper[static_cast<size_t>(at)] = upper;
    if (!stays) dropped[static_cast<size_t>(at)] = static_cast<int32_t>(rounds.size());
}

void Trace::score(int64_t position, float score, double threshold) {
    // If nothing is chosen to be shown yet, the first scores are recorded.
    const bool wanted = shown.empty() ? static_cast<int64_t>(scores.size()) < kMostShown : place(position) >= 0;
    if (wanted) scores.push_back({position, score, threshold});
}

void Trace::add_tier0(std::span<const int64_t> candidates, std::span<const int32_t> proxies,
                      std::span<const int64_t> survivors) {
    tier0.assign(shown.size(), 0);
    for (size_t i = 0; i < candidates.size(); ++i) {
        const int64_t at = place(candidates[i]);
        if (at >= 0) tier0[static_cast<size_t>(at)] = proxies[i];
    }
    dropped.assign(shown.size(), kByTier0);
    for (const int64_t position : survivors) {
        const int64_t at = place(position);
        if (at >= 0) dropped[static_cast<size_t>(at)] = 0;
    }
}

void Trace::add_bytes(const char* stage, int64_t count) {
    for (auto& [name, sum] : bytes) {
        if (std::string_view(name) == stage) {
            sum += count;
            return;
        }
    }
    bytes.emplace_back(stage, count);
}

int64_t bytes_of_codes(const Corpus& corpus, std::span<const int64_t> positions) {
    const int64_t bytes = bytes_of_codes_a_token(corpus);
    return total(corpus, positions, [&](const Document& document) { return document.length() * bytes; });
}

int64_t bytes_of_rows(const Corpus& corpus, std::span<const int64_t> positions) {
    return total(corpus, positions, [&](const Document& document) {
        switch (document.stored()) {
            case Stored::float32:
                return document.length() * corpus.d() * 4;
            case Stored::float16:
                return document.length() * corpus.d() * 2;
            default:
                return document.length() * bytes_of_codes_a_token(corpus);
        }
    });
}

int64_t bytes_of_centroids(const Corpus& corpus, std::span<const int64_t> positions) {
    constexpr auto kBytes = static_cast<int64_t>(sizeof(uint16_t));
    return total(corpus, positions, [&](const Document& document) { return document.length() * kBytes; });
}

std::vector<int64_t> choose_shown(const Trace& first, std::span<const Scored> hits, std::span<const int64_t> candidates,
                                  int64_t most) {
    std::vector<int64_t> chosen;
    for (const Scored& hit : hits.first(std::min(hits.size(), static_cast<size_t>(most))))
        chosen.push_back(hit.position);
    std::ranges::sort(chosen);
    const auto add = [&](int64_t position) {
        const auto at = std::ranges::lower_bound(chosen, position);
        const bool room = static_cast<int64_t>(chosen.size()) < most;
        if (room && (at == chosen.end() || *at != position)) chosen.insert(at, position);
    };
    if (first.unseen >= 0) add(first.unseen);
    if (static_cast<int64_t>(first.scores.size()) <= most / 2) {
        for (const Trace::Score& one : first.scores) add(one.position);
    }
    std::vector<int64_t> others;
    std::ranges::set_difference(candidates, chosen, std::back_inserter(others));
    const int64_t room = most - static_cast<int64_t>(chosen.size());
    for (const int64_t i : sample(static_cast<int64_t>(others.size()), room, 0)) {
        chosen.push_back(others[static_cast<size_t>(i)]);
    }
    std::ranges::sort(chosen);
    return chosen;
}

}  // namespace maxsieve
