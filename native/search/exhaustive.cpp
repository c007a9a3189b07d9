#include "search/exhaustive.hpp"

#include "search/rescore.hpp"
#include "search/stopwatch.hpp"

namespace maxsieve {
namespace {

void trace_all(const Task& task, std::span<const Scored> all) {
    KLargest best(task.k);
    for (const Scored& one : all) {
        best.push(static_cast<double>(one.score));
        task.trace->score(one.position, one.score, best.kth());
    }
    task.trace->add_bytes("rescore", bytes_of_rows(task.engine.corpus, task.candidates()));
}

}  // namespace

std::vector<Answer> Exhaustive::search(const Task& task) const {
    Stopwatch watch;
    const auto candidates = task.candidates();
    const std::vector<float> scores = Rescorer(task.engine, task.queries).scores(candidates);
    const double share = watch.lap() / static_cast<double>(task.queries.size());
    std::vector<Answer> answers(task.queries.size());
    task.for_each_query([&](size_t q, const Engine&) {
        Stopwatch own;
        std::vector<Scored> all(candidates.size());
        size_t hint = 0;
        for (size_t i = 0; i < all.size(); ++i) {
            const int64_t order = task.engine.corpus.order(candidates[i], hint);
            all[i] = {candidates[i], order, scores[q * candidates.size() + i]};
        }
        if (task.trace != nullptr) trace_all(task, all);
        answers[q].hits = top_k(std::move(all), task.k);
        answers[q].rescored = static_cast<int64_t>(candidates.size());
        answers[q].stages = {{"rescore", share + own.lap()}};
    });
    return answers;
}

}  // namespace maxsieve
