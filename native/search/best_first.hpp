// Best-first rescoring: computes canonical scores in the order of upper bounds. It stops when the next upper bound is
// below the K-th best score so far, so that the document can't be a hit, not even as a tie.
#pragma once

#include <span>
#include <vector>

#include "search/bounds.hpp"
#include "search/engine.hpp"
#include "search/exchange.hpp"
#include "search/query.hpp"
#include "search/top_k.hpp"
#include "search/trace.hpp"

namespace maxsieve {

// The documents that best-first rescoring may reach, as indices into the bounds, in its order: by descending upper
// bound, ties by index. There must be at least k bounds.
std::vector<int64_t> best_first(const CertifiedBounds& bounds, int64_t k);

struct Rescored {
    std::vector<Scored> hits;
    int64_t count;  // of scored documents, as if they were scored one at a time
    double kth;     // the K-th best score
};

// Scores the documents at `positions` in the given order, and finds the k best. `trace` may be null.
Rescored rescore_best_first(const Engine& engine, const Query& query, int64_t k, std::span<const int64_t> positions,
                            const CertifiedBounds& bounds, std::span<const int64_t> order, Trace* trace);

// The same over the shards of all members. Each member scores its own documents: first those among the k largest upper
// bounds of all members, then those whose bounds reach the k-th best of these scores. `count` and hits are those of
// this member. `kth` is NaN: a member does not know the k-th best score of all.
Rescored rescore_shared(const Engine& engine, const Query& query, int64_t k, std::span<const int64_t> positions,
                        const CertifiedBounds& bounds, double kth_upper, Exchange& exchange);

}  // namespace maxsieve
