// Every cell, canonically.

#include "search/rescore.hpp"
#include "search/search.hpp"

namespace maxsieve {

std::vector<Answer> search_exhaustive(const Task& task) {
    Stopwatch watch;
    const auto candidates = task.candidates();
    const std::vector<float> scores = Rescorer(task, task.queries, task.crew).scores(candidates);
    const double share = watch.lap() / static_cast<double>(task.queries.size());
    std::vector<Answer> answers(task.queries.size());
    task.for_each_query([&](size_t q, Crew&) {
        Stopwatch own;
        std::vector<Scored> all(candidates.size());
        for (size_t i = 0; i < all.size(); ++i) all[i] = {candidates[i], scores[q * candidates.size() + i]};
        answers[q].hits = top_k(std::move(all), task.k);
        answers[q].rescored = static_cast<int64_t>(candidates.size());
        answers[q].stages = {{"rescore", share + own.lap()}};
    });
    return answers;
}

}  // namespace maxsieve
