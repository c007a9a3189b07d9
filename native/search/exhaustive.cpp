// Every cell, canonically.

#include "search/rescore.hpp"
#include "search/search.hpp"

namespace maxsieve {

Answer search_exhaustive(const Task& task) {
    Stopwatch watch;
    Answer answer;
    const auto candidates = task.query.candidates;
    const std::vector<float> scores = Rescorer(task).scores(candidates);
    std::vector<Scored> all(candidates.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = {candidates[i], scores[i]};
    answer.hits = top_k(std::move(all), task.k);
    answer.rescored = static_cast<int64_t>(candidates.size());
    answer.stages = {{"rescore", watch.lap()}};
    return answer;
}

}  // namespace maxsieve
