#include "search/calibrated.hpp"

#include <algorithm>

#include "search/certified.hpp"
#include "search/stopwatch.hpp"
#include "search/tier0.hpp"

namespace maxsieve {
namespace {

// Whether tier 0 does not pay. Without it, candidates - depth more documents are scanned. With it, a table is made,
// which is as much work as scanning one token for each centroid.
bool tier0_does_not_pay(int64_t candidates, int64_t depth, double mean_length, const Codebook& codebook) {
    return static_cast<double>(candidates - depth) * mean_length <= static_cast<double>(codebook.centroids);
}

}  // namespace

size_t Calibrated::bytes_kept() const {
    return std::max(sizeof(int32_t), Certified().bytes_kept());
}

std::vector<Answer> Calibrated::search(const Task& task) const {
    auto candidates = static_cast<int64_t>(task.candidates().size());
    if (task.exchange != nullptr) {
        candidates = static_cast<int64_t>(task.exchange->share({offer_sum(candidates)}).front());
    }
    if (candidates <= depth_ || tier0_does_not_pay(candidates, depth_, mean_length_, task.engine.corpus.codebook())) {
        return Certified().search(task);
    }
    std::vector<Answer> answers(task.queries.size());
    task.for_each_query([&](size_t q, const Engine& engine) {
        const Query& query = task.queries[q];
        const Tier0 tier = tier0(engine, query);
        Stopwatch watch;
        const std::vector<int64_t> chosen = survivors(tier, engine.corpus, query.candidates, depth_, task.exchange);
        const double choosing = watch.lap();
        if (task.trace != nullptr) {
            task.trace->add_tier0(query.candidates, tier.proxies, chosen);
            const Corpus& corpus = engine.corpus;
            task.trace->add_bytes("table", tier.strips * corpus.codebook().centroids * corpus.stride());
            task.trace->add_bytes("tier 0", tier.strips * bytes_of_centroids(corpus, query.candidates));
        }
        const Query among{query.rows, query.tokens, chosen};
        Answer& answer = answers[q];
        answer = std::move(Certified().search({engine, {&among, 1}, task.k, task.trace, task.exchange}).front());
        answer.guarantee = Guarantee::none;
        answer.coverage = static_cast<double>(depth_) / static_cast<double>(candidates);
        answer.survivors = static_cast<int64_t>(chosen.size());
        answer.stages.insert(answer.stages.begin(),
                             {{"table", tier.table_seconds}, {"tier 0", tier.scan_seconds + choosing}});
    });
    return answers;
}

}  // namespace maxsieve
