// The certified policy: scan the proxies P_i of all candidates, then rescore best-first by P_i + eps_i until the next
// one can't reach the K-th best canonical score, not even as a tie. docs/theory.md has the proof.

#include <limits>

#include "search/best_first.hpp"
#include "search/query.hpp"
#include "search/scan.hpp"
#include "search/search.hpp"

namespace maxsieve {
namespace {

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
        Answer& answer = answers[q];
        Stopwatch own;
        const std::vector<int64_t> order = best_first(bounds[q], task.k);
        answer.stages = {{"scan", share}, {"sieve", own.lap()}};
        Rescored rescored = rescore_best_first(task, task.queries[q], task.candidates(), bounds[q], order, crew);
        answer.rounds = {{static_cast<int64_t>(task.candidates().size()), task.queries[q].tokens, rescored.kth}};
        answer.rescored = rescored.count;
        answer.hits = std::move(rescored.hits);
        answer.stages.emplace_back("rescore", own.lap());
    });
    return answers;
}

}  // namespace maxsieve
