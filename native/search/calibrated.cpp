#include "search/calibrated.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "index/read_ahead.hpp"
#include "search/certified.hpp"
#include "search/stopwatch.hpp"
#include "search/tier0.hpp"
#include "search/walk.hpp"

namespace maxsieve {
namespace {

// Rows that are compared with the query before the documents to follow up are known: all centroids, or all heads and
// the members of the groups that a token opens.
double rows_before(const Corpus& corpus, const std::optional<WalkShape>& walk) {
    if (!walk) return static_cast<double>(corpus.codebook().centroids);
    const Codebook& book = *corpus.lists().codebook;
    const auto groups = static_cast<double>(book.groups);
    return groups +
           static_cast<double>(std::min(walk->opened, book.groups)) * static_cast<double>(book.centroids) / groups;
}

// Sums over all members of a search, or the numbers themselves.
std::vector<int64_t> in_all(const Task& task, std::vector<int64_t> numbers) {
    if (task.exchange == nullptr) return numbers;
    std::vector<Offer> offers;
    for (const int64_t number : numbers) offers.push_back(offer_sum(number));
    const std::vector<double> sums = task.exchange->share(std::move(offers));
    std::ranges::transform(sums, numbers.begin(), [](double sum) { return static_cast<int64_t>(sum); });
    return numbers;
}

// Candidates that were there when the index was calibrated, and those that were added.
class OldAndAdded {
  public:
    OldAndAdded(std::span<const int64_t> candidates, std::span<const int64_t> added) : old(candidates) {
        if (added.empty()) return;
        const auto first =
            static_cast<size_t>(std::ranges::lower_bound(candidates, added.front()) - candidates.begin());
        old = candidates.first(first), this->added = candidates.subspan(first);
        if (std::ranges::includes(added, this->added)) return;  // the last ones, as in an index without shards
        std::ranges::set_intersection(candidates, added, std::back_inserter(added_));
        std::ranges::set_difference(candidates, added, std::back_inserter(old_));
        old = old_, this->added = added_;
    }

    std::span<const int64_t> old, added;

  private:
    std::vector<int64_t> old_, added_;
};

// How many tokens some documents have.
int64_t tokens_of(const Corpus& corpus, std::span<const int64_t> positions) {
    int64_t tokens = 0;
    size_t hint = 0;
    for (const int64_t position : positions) tokens += corpus.at(position, hint).length();
    return tokens;
}

}  // namespace

// The first n documents by proxy, ascending, and what finding them took.
struct Calibrated::Chosen {
    std::vector<int64_t> positions;
    std::vector<std::pair<const char*, double>> stages;
    std::vector<std::pair<const char*, int64_t>> counts = {};
    std::vector<int32_t> proxies = {};  // of the candidates, for a trace
};

size_t Calibrated::bytes_kept() const {
    return walk_ ? 1 : std::max(sizeof(int32_t), Certified().bytes_kept());
}

Calibrated::Chosen Calibrated::choose_by_tier0(const Engine& engine, const Query& old, const Task& task) const {
    const Corpus& corpus = engine.corpus;
    Tier0 tier = tier0(engine, old);
    Stopwatch watch;
    Chosen chosen{survivors(tier, corpus, old.candidates, depth_, task.exchange), {}};
    chosen.stages = {{"table", tier.table_seconds}, {"tier 0", tier.scan_seconds + watch.lap()}};
    if (task.trace != nullptr) {
        task.trace->add_bytes("table", tier.strips * corpus.codebook().centroids * corpus.stride());
        task.trace->add_bytes("tier 0", tier.strips * bytes_of_centroids(corpus, old.candidates));
        chosen.proxies = std::move(tier.proxies);
    }
    return chosen;
}

Calibrated::Chosen Calibrated::choose_by_lists(const Engine& engine, const Query& old, const Task& task) const {
    WalkedFirst found = walk_first(engine, old, *walk_, depth_);
    Stopwatch watch;
    if (task.exchange != nullptr) {
        const std::optional<Place> last = last_of_all(found.first, depth_, *task.exchange);
        std::erase_if(found.first, [&](const Placed& one) { return last && last->before(one.place); });
    }
    Chosen chosen;
    chosen.positions.reserve(found.first.size());
    for (const Placed& one : found.first) chosen.positions.push_back(one.position);
    std::ranges::sort(chosen.positions);
    const WalkCounts& counts = found.counts;
    chosen.stages = {{"centroids", counts.near_seconds}, {"lists", counts.walk_seconds + watch.lap()}};
    chosen.counts = {{"centroids", counts.centroids}, {"lists", counts.lists}, {"postings", counts.postings}};
    if (task.trace != nullptr) {
        chosen.proxies = walk_all(engine, old, *walk_).proxies;
        task.trace->add_bytes("centroids", counts.centroids * engine.corpus.stride());
        task.trace->add_bytes("lists", counts.postings * static_cast<int64_t>(sizeof(uint16_t)));
    }
    return chosen;
}

std::vector<Answer> Calibrated::search(const Task& task) const {
    const Corpus& corpus = task.engine.corpus;
    const OldAndAdded candidates_by_age(task.candidates(), added_);
    const std::span<const int64_t> old = candidates_by_age.old, added = candidates_by_age.added;
    const auto sums = in_all(task, {static_cast<int64_t>(old.size()), static_cast<int64_t>(added.size())});
    const int64_t candidates = sums[0] + sums[1];
    // Certified scoring of all candidates costs no more than the proxies and certified scoring of the first by proxy,
    // if the rows that are compared beforehand outweigh the documents that this saves.
    if (static_cast<double>(sums[0] - depth_) * mean_length_ <= rows_before(corpus, walk_)) {
        return Certified().search(task);
    }
    std::vector<Answer> answers(task.queries.size());
    task.for_each_query([&](size_t q, const Engine& engine) {
        const Query& query = task.queries[q];
        const Query among_old{query.rows, query.tokens, old};
        Chosen chosen = walk_ ? choose_by_lists(engine, among_old, task) : choose_by_tier0(engine, among_old, task);
        const auto middle = static_cast<std::ptrdiff_t>(chosen.positions.size());
        chosen.positions.insert(chosen.positions.end(), added.begin(), added.end());
        std::inplace_merge(chosen.positions.begin(), chosen.positions.begin() + middle, chosen.positions.end());
        // Lists that hold too few documents can't answer: then all candidates are followed up, which is exact.
        const int64_t followed =
            walk_ ? in_all(task, {static_cast<int64_t>(chosen.positions.size())}).front() : depth_ + sums[1];
        const bool enough = !walk_ || followed >= std::min(task.k, candidates);
        const Query among{query.rows, query.tokens,
                          enough ? std::span<const int64_t>(chosen.positions) : query.candidates};
        if (enough) read_ahead(corpus, among.candidates);
        if (task.trace != nullptr) task.trace->add_tier0(old, chosen.proxies, among.candidates);
        Answer& answer = answers[q];
        answer = std::move(Certified().search({engine, {&among, 1}, task.k, task.trace, task.exchange}).front());
        if (enough) {
            answer.guarantee = Guarantee::none;
            answer.coverage = static_cast<double>(followed) / static_cast<double>(candidates);
        }
        answer.survivors = static_cast<int64_t>(among.candidates.size());
        answer.counts = std::move(chosen.counts);
        answer.counts.emplace_back("tokens", tokens_of(corpus, among.candidates));
        answer.stages.insert(answer.stages.begin(), chosen.stages.begin(), chosen.stages.end());
    });
    return answers;
}

}  // namespace maxsieve
