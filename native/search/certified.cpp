// The certified policy: scan the proxies P_i of all candidates, then rescore best-first by P_i + eps_i until the next
// one can't reach the K-th best canonical score, not even as a tie. docs/theory.md has the proof.

#include <algorithm>
#include <limits>

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

// Rescores one query's candidates best-first. They are scored in batches for the threads' sake, then replayed in order:
// the count is that of one at a time.
void rescore(const Task& task, const Query& query, const CertifiedBounds& bounds, Crew& crew, Answer& answer) {
    Stopwatch watch;
    const auto candidates = query.candidates;
    const std::vector<int64_t> order = best_first(bounds, kth_largest(bounds.lower, task.k));
    answer.stages.emplace_back("sieve", watch.lap());

    Rescorer rescorer(task, {&query, 1}, crew);
    KLargest best(task.k);
    std::vector<Scored> scored;
    const int64_t threads = crew.size();
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
    answer.rounds = {{static_cast<int64_t>(candidates.size()), query.tokens, best.kth()}};
    answer.hits = top_k(std::move(scored), task.k);
    answer.stages.emplace_back("rescore", watch.lap());
}

// What the scan needs of one query: its scales, and its share of eps_i.
struct Prepared {
    Prepared(const Task& task, const Query& query)
        : codes(task.kernel, query.rows, query.tokens, task.corpus.d()),
          terms(codes),
          scale(codes.scale.begin(), codes.scale.end()) {}

    // Bounds of some documents from their maxima, which are `apart` from one document to the next.
    void bound(const Kernel& kernel, const Scanned& scanned, int64_t apart, const int32_t* maxima,
               CertifiedBounds& bounds) const {
        double* lower = bounds.lower.data() + scanned.first;
        double* upper = bounds.upper.data() + scanned.first;
        kernel.weigh(scale.data(), codes.tokens, maxima, apart, static_cast<int64_t>(scanned.documents.size()), lower);
        for (const Document& document : scanned.documents) {
            const double proxy = static_cast<double>(document.scale) * *lower;
            const double epsilon = terms.epsilon(document.rho, document.nu);
            require_finite(proxy - epsilon);
            require_finite(proxy + epsilon);
            *lower++ = proxy - epsilon;
            *upper++ = proxy + epsilon;
        }
    }

    QueryCodes codes;
    ErrorTerms terms;
    std::vector<double> scale;
};

// No more candidates than hits wanted: all are rescored whatever their bounds, so these need not be known.
std::vector<Answer> rescore_all(const Task& task) {
    std::vector<Answer> answers = search_exhaustive(task);
    const auto count = static_cast<int64_t>(task.candidates().size());
    for (size_t q = 0; q < answers.size(); ++q) {
        Answer& answer = answers[q];
        const double threshold =
            count < task.k ? -std::numeric_limits<double>::infinity() : static_cast<double>(answer.hits.back().score);
        answer.rounds = {{count, task.queries[q].tokens, threshold}};
        answer.stages.insert(answer.stages.begin(), {{"scan", 0.0}, {"sieve", 0.0}});
    }
    return answers;
}

}  // namespace

std::vector<CertifiedBounds> certified_bounds(const Task& task) {
    const auto candidates = task.candidates();
    std::vector<Prepared> prepared;
    std::vector<CertifiedBounds> bounds;
    std::vector<const int8_t*> rows;
    for (const Query& query : task.queries) {
        prepared.emplace_back(task, query);
        bounds.push_back({std::vector<double>(candidates.size()), std::vector<double>(candidates.size())});
    }
    for (const Prepared& query : prepared) {
        for (int64_t t = 0; t < query.codes.tokens; ++t) rows.push_back(query.codes.row(t));
    }
    const PackedCodes packed(task.kernel, rows, task.corpus.stride());
    scan(task.corpus, candidates, task.kernel, packed, task.crew, task.interrupt, [&](const Scanned& scanned) {
        const int32_t* maxima = scanned.maxima;
        for (size_t q = 0; q < prepared.size(); ++q) {
            prepared[q].bound(task.kernel, scanned, packed.tokens(), maxima, bounds[q]);
            maxima += prepared[q].codes.tokens;
        }
    });
    return bounds;
}

std::vector<Answer> search_certified(const Task& task) {
    if (static_cast<int64_t>(task.candidates().size()) <= task.k) return rescore_all(task);
    Stopwatch watch;
    const std::vector<CertifiedBounds> bounds = certified_bounds(task);
    const double share = watch.lap() / static_cast<double>(task.queries.size());
    std::vector<Answer> answers(task.queries.size());
    task.for_each_query([&](size_t q, Crew& crew) {
        answers[q].stages.emplace_back("scan", share);
        rescore(task, task.queries[q], bounds[q], crew, answers[q]);
    });
    return answers;
}

}  // namespace maxsieve
