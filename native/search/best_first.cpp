#include "search/best_first.hpp"

#include <algorithm>
#include <limits>

#include "search/rescore.hpp"

namespace maxsieve {
namespace {

// Records the bytes that were read, and the document that would have come next: the next in the order or, at the end of
// the order, the one with the largest upper bound of the others.
void trace_end(Trace& trace, const Engine& engine, std::span<const Scored> scored, std::span<const int64_t> positions,
               const CertifiedBounds& bounds, std::span<const int64_t> order) {
    std::vector<int64_t> read;
    for (const Scored& one : scored) read.push_back(one.position);
    std::ranges::sort(read);
    trace.add_bytes("rescore", bytes_of_rows(engine.corpus, read));
    std::vector<bool> ordered(positions.size(), false);
    for (const int64_t i : order) ordered[static_cast<size_t>(i)] = true;
    int64_t next = -1;
    if (scored.size() < order.size()) {
        next = order[scored.size()];
    } else {
        for (size_t i = 0; i < positions.size(); ++i) {
            const bool larger = next < 0 || bounds.upper[i] > bounds.upper[static_cast<size_t>(next)];
            if (!ordered[i] && larger) next = static_cast<int64_t>(i);
        }
    }
    if (next < 0) return;
    trace.unseen = positions[static_cast<size_t>(next)];
    trace.unseen_upper = bounds.upper[static_cast<size_t>(next)];
}

}  // namespace

std::vector<int64_t> best_first(const CertifiedBounds& bounds, int64_t k) {
    // K documents have lower bounds of at least `floor`, so their canonical scores are at least `floor`, too. A
    // document whose upper bound is below `floor` comes after them: it is never reached.
    const double floor = kth_largest(bounds.lower, k);
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

// Documents are scored in batches, to use all threads. Then the batch is replayed in order, so that `count` is the same
// as one at a time.
Rescored rescore_best_first(const Engine& engine, const Query& query, int64_t k, std::span<const int64_t> positions,
                            const CertifiedBounds& bounds, std::span<const int64_t> order, Trace* trace) {
    Rescorer rescorer(engine, {&query, 1});
    KLargest best(k);
    std::vector<Scored> scored;
    size_t hint = 0;
    const int64_t threads = engine.crew.size();
    const auto total = static_cast<int64_t>(order.size());
    for (int64_t first = 0;
         first < total && bounds.upper[static_cast<size_t>(order[static_cast<size_t>(first)])] >= best.kth();) {
        const int64_t wanted = std::max(k - first, threads == 1 ? int64_t{1} : 4 * threads);
        const int64_t last = std::min(total, first + wanted);
        std::vector<int64_t> batch;
        for (int64_t i = first; i < last; ++i) {
            batch.push_back(positions[static_cast<size_t>(order[static_cast<size_t>(i)])]);
        }
        const std::vector<float> scores = rescorer.scores(batch);
        for (int64_t i = first; i < last; ++i) {
            if (bounds.upper[static_cast<size_t>(order[static_cast<size_t>(i)])] < best.kth()) break;
            const float score = scores[static_cast<size_t>(i - first)];
            best.push(static_cast<double>(score));
            const int64_t position = batch[static_cast<size_t>(i - first)];
            scored.push_back({position, engine.corpus.order(position, hint), score});
            if (trace != nullptr) trace->score(scored.back().position, score, best.kth());
        }
        first = last;
    }
    const auto count = static_cast<int64_t>(scored.size());
    if (trace != nullptr) trace_end(*trace, engine, scored, positions, bounds, order);
    return {top_k(std::move(scored), k), count, best.kth()};
}

// All documents whose upper bound reaches `kth_score` are scored. Any other document has a lower score, while k
// documents have at least `kth_score`: it is no hit, not even as a tie. If there are fewer than k documents, both
// limits are -infinity.
Rescored rescore_shared(const Engine& engine, const Query& query, int64_t k, std::span<const int64_t> positions,
                        const CertifiedBounds& bounds, double kth_upper, Exchange& exchange) {
    Rescorer rescorer(engine, {&query, 1});
    std::vector<Scored> scored;
    std::vector<double> scores;
    size_t hint = 0;
    const auto score = [&](const auto& chosen) {
        std::vector<int64_t> batch;
        for (size_t i = 0; i < positions.size(); ++i) {
            if (chosen(bounds.upper[i])) batch.push_back(positions[i]);
        }
        const std::vector<float> found = rescorer.scores(batch);
        for (size_t i = 0; i < batch.size(); ++i) {
            scored.push_back({batch[i], engine.corpus.order(batch[i], hint), found[i]});
            scores.push_back(static_cast<double>(found[i]));
        }
    };
    score([&](double upper) { return upper >= kth_upper; });
    const double kth_score = exchange.share({offer_kth(scores, k)}).front();
    score([&](double upper) { return upper < kth_upper && upper >= kth_score; });
    const auto count = static_cast<int64_t>(scored.size());
    return {top_k(std::move(scored), k), count, std::numeric_limits<double>::quiet_NaN()};
}

}  // namespace maxsieve
