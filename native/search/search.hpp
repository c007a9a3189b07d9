// One search: any number of queries, each with its own candidates.
#pragma once

#include <cstdint>
#include <vector>

#include "index/corpus.hpp"
#include "search/answer.hpp"
#include "search/policy.hpp"
#include "search/query.hpp"
#include "threads/interrupt.hpp"

namespace maxsieve {

// An answer for each query. Neighbouring queries with the same candidates form a group. If there are at least as many
// groups as threads, and the groups that run at the same time keep at most 128 MiB, each thread runs groups of its own.
// Otherwise groups run one after the other, each on all threads. A single group keeps at most 128 MiB, too, unless it
// has only one query.
std::vector<Answer> search(const Corpus& corpus, const std::vector<Query>& queries, int64_t k, const Policy& policy,
                           int threads, Interrupt& interrupt);

// The same for a single query, with its trace. If only some candidates are shown, the search runs a second time to
// trace them.
Answer search_traced(const Corpus& corpus, const Query& query, int64_t k, const Policy& policy, int threads,
                     Interrupt& interrupt);

// The same for a single query that other members search at the same time, each in its own shards. Rounds, coverage and
// guarantee are about all members; hits, counts and seconds are those of this member.
Answer search_shared(const Corpus& corpus, const Query& query, int64_t k, const Policy& policy, int threads,
                     Exchange& exchange, Interrupt& interrupt);

}  // namespace maxsieve
