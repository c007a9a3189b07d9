// Best-first rescoring: canonical scores in the order of upper bounds, until the next bound can't reach the K-th best
// score so far, not even as a tie.
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

// The places, among the bounds, that best-first rescoring can come to, in its order: by falling upper bound, equals by
// place. There must be at least k bounds.
std::vector<int64_t> best_first(const CertifiedBounds& bounds, int64_t k);

struct Rescored {
    std::vector<Scored> hits;
    int64_t count;  // of documents that were scored, as if one at a time
    double kth;     // the K-th best score
};

// Scores the documents at `positions` in the order given, for the k best; `trace` may be null.
Rescored rescore_best_first(const Engine& engine, const Query& query, int64_t k, std::span<const int64_t> positions,
                            const CertifiedBounds& bounds, std::span<const int64_t> order, Trace* trace);

// The same over the shards of all members, of which each scores its own documents: first the k that have the largest
// upper bounds of all, then those whose bounds reach the k-th best of these scores. `count` is this member's, and so
// are the hits. The k-th best score of all is not known here: `kth` is NaN.
Rescored rescore_shared(const Engine& engine, const Query& query, int64_t k, std::span<const int64_t> positions,
                        const CertifiedBounds& bounds, double kth_upper, Exchange& exchange);

}  // namespace maxsieve
