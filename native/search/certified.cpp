// The certified policy: scan the proxies P_i of all candidates, then rescore best-first by P_i + eps_i until the next
// one can't reach the K-th best canonical score, not even as a tie. docs/theory.md has the proof.

#include <algorithm>
#include <numeric>

#include "numeric/rounding.hpp"
#include "search/query.hpp"
#include "search/rescore.hpp"
#include "search/scan.hpp"
#include "search/search.hpp"

namespace maxsieve {
namespace {

// Those that best-first rescoring can come to, in its order. K documents have lower bounds of at least `floor`, so
// their canonical scores are too, and they stand before any document whose upper bound is below it: that one is never
// reached.
std::vector<int64_t> best_first(const CertifiedBounds& bounds, double floor) {
    std::vector<int64_t> order;
    for (size_t i = 0; i < bounds.upper.size(); ++i) {
        if (bounds.upper[i] >= floor) order.push_back(static_cast<int64_t>(i));
    }
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        const double upper_a = bounds.upper[static_cast<size_t>(a)], upper_b = bounds.upper[static_cast<size_t>(b)];
        return upper_a != upper_b ? upper_a > upper_b : a < b;
    });
    return order;
}

}  // namespace

CertifiedBounds certified_bounds(const Task& task) {
    const QueryCodes codes(task.query.rows, task.query.tokens, task.corpus.d());
    const ErrorTerms terms(codes);
    std::vector<int64_t> order(static_cast<size_t>(codes.tokens));
    std::iota(order.begin(), order.end(), 0);
    const PackedCodes packed(task.kernel, codes, order, 0, codes.tokens);
    const std::vector<double> scale(codes.scale.begin(), codes.scale.end());
    const auto candidates = task.query.candidates;
    CertifiedBounds bounds{std::vector<double>(candidates.size()), std::vector<double>(candidates.size())};
    scan(task.corpus, candidates, task.kernel, packed, task.crew, task.interrupt,
         [&](int64_t i, const Document& document, const int32_t* maxima) {
             const double proxy = static_cast<double>(document.scale) * lane_dot(scale.data(), maxima, codes.tokens);
             const double epsilon = terms.epsilon(document.rho, document.nu);
             require_finite(proxy - epsilon);
             require_finite(proxy + epsilon);
             bounds.lower[static_cast<size_t>(i)] = proxy - epsilon;
             bounds.upper[static_cast<size_t>(i)] = proxy + epsilon;
         });
    return bounds;
}

Answer search_certified(const Task& task) {
    Stopwatch watch;
    Answer answer;
    const auto candidates = task.query.candidates;
    const CertifiedBounds bounds = certified_bounds(task);
    answer.stages.emplace_back("scan", watch.lap());

    const std::vector<int64_t> order = best_first(bounds, kth_largest(bounds.lower, task.k));
    answer.stages.emplace_back("sieve", watch.lap());

    // Scored in batches for the threads' sake, then replayed in order: the count is that of one at a time.
    Rescorer rescorer(task);
    KLargest best(task.k);
    std::vector<Scored> scored;
    const int64_t threads = task.crew.size();
    const auto total = static_cast<int64_t>(order.size());
    for (int64_t first = 0;
         first < total && bounds.upper[static_cast<size_t>(order[static_cast<size_t>(first)])] >= best.kth();) {
        const int64_t wanted = std::max(task.k - first, threads == 1 ? int64_t{1} : 4 * threads);
        const int64_t last = std::min(total, first + wanted);
        std::vector<int64_t> batch;
        for (int64_t i = first; i < last; ++i) {
            batch.push_back(candidates[static_cast<size_t>(order[static_cast<size_t>(i)])]);
        }
        const std::vector<float> scores = rescorer.scores(batch);
        for (int64_t i = first; i < last; ++i) {
            if (bounds.upper[static_cast<size_t>(order[static_cast<size_t>(i)])] < best.kth()) break;
            const float score = scores[static_cast<size_t>(i - first)];
            best.push(static_cast<double>(score));
            scored.push_back({batch[static_cast<size_t>(i - first)], score});
        }
        first = last;
    }
    answer.rescored = static_cast<int64_t>(scored.size());
    answer.rounds = {{static_cast<int64_t>(candidates.size()), task.query.tokens, best.kth()}};
    answer.hits = top_k(std::move(scored), task.k);
    answer.stages.emplace_back("rescore", watch.lap());
    return answer;
}

}  // namespace maxsieve
