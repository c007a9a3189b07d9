// Scans the proxies P_i of all candidates. Then it rescores best-first by P_i + eps_i, until the next upper bound is
// below the K-th best canonical score: such a document is no hit, not even as a tie. docs/theory.md has the proof.

#include "search/certified.hpp"

#include <limits>

#include "search/best_first.hpp"
#include "search/exhaustive.hpp"
#include "search/stopwatch.hpp"

namespace maxsieve {
namespace {

// With at most k candidates, all of them are rescored, so bounds are not needed.
std::vector<Answer> rescore_all(const Task& task) {
    std::vector<Answer> answers = Exhaustive().search(task);
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

// One round, which reveals all tokens. Best-first rescoring never reaches the documents that it drops.
void trace_bounds(const Task& task, const CertifiedBounds& bounds) {
    const auto candidates = task.candidates();
    const double floor = kth_largest(bounds.lower, task.k);
    task.trace->begin_round(static_cast<int64_t>(candidates.size()), task.queries.front().tokens, floor);
    for (size_t i = 0; i < candidates.size(); ++i) {
        task.trace->interval(candidates[i], bounds.lower[i], bounds.upper[i], bounds.upper[i] >= floor);
    }
    task.trace->add_bytes("scan", bytes_of_codes(task.engine.corpus, candidates));
}

// One query over the shards of all members.
Answer search_shared(const Task& task) {
    Stopwatch watch;
    const Query& query = task.queries.front();
    const CertifiedBounds bounds = std::move(certified_bounds(task.engine, task.queries).front());
    const double scan = watch.lap();
    const auto own = static_cast<int64_t>(query.candidates.size());
    const std::vector<double> reply = task.exchange->share({offer_sum(own), offer_kth(bounds.upper, task.k)});
    const double sieve = watch.lap();
    Rescored rescored = rescore_shared(task.engine, query, task.k, query.candidates, bounds, reply[1], *task.exchange);
    Answer answer;
    answer.rounds = {{static_cast<int64_t>(reply[0]), query.tokens, rescored.kth}};
    answer.rescored = rescored.count;
    answer.hits = std::move(rescored.hits);
    answer.stages = {{"scan", scan}, {"sieve", sieve}, {"rescore", watch.lap()}};
    return answer;
}

std::vector<Answer> one_answer(Answer answer) {
    std::vector<Answer> answers;
    answers.push_back(std::move(answer));
    return answers;
}

}  // namespace

std::vector<Answer> Certified::search(const Task& task) const {
    if (task.exchange != nullptr) return one_answer(search_shared(task));
    if (static_cast<int64_t>(task.candidates().size()) <= task.k) return rescore_all(task);
    Stopwatch watch;
    const std::vector<CertifiedBounds> bounds = certified_bounds(task.engine, task.queries);
    const double share = watch.lap() / static_cast<double>(task.queries.size());
    std::vector<Answer> answers(task.queries.size());
    task.for_each_query([&](size_t q, const Engine& engine) {
        Answer& answer = answers[q];
        Stopwatch own;
        const std::vector<int64_t> order = best_first(bounds[q], task.k);
        answer.stages = {{"scan", share}, {"sieve", own.lap()}};
        if (task.trace != nullptr) trace_bounds(task, bounds[q]);
        Rescored rescored =
            rescore_best_first(engine, task.queries[q], task.k, task.candidates(), bounds[q], order, task.trace);
        answer.rounds = {{static_cast<int64_t>(task.candidates().size()), task.queries[q].tokens, rescored.kth}};
        answer.rescored = rescored.count;
        answer.hits = std::move(rescored.hits);
        answer.stages.emplace_back("rescore", own.lap());
    });
    return answers;
}

}  // namespace maxsieve
