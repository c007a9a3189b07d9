// One search: any number of queries, each with its candidates.
#pragma once

#include <cstdint>
#include <vector>

#include "index/corpus.hpp"
#include "search/answer.hpp"
#include "search/policy.hpp"
#include "search/query.hpp"
#include "threads/interrupt.hpp"

namespace maxsieve {

// An answer for each query. Queries are gathered into groups with the same candidates. Groups run side by side where
// there are as many as threads and together they keep no more than 128 MiB; else one after the other, with all threads
// inside each. A group keeps no more than that either, unless it is a single query.
std::vector<Answer> search(const Corpus& corpus, const std::vector<Query>& queries, int64_t k, const Policy& policy,
                           int threads, Interrupt& interrupt);

// The same for a single query, with its trace. Where only some candidates are shown, it runs a second time to see them.
Answer search_traced(const Corpus& corpus, const Query& query, int64_t k, const Policy& policy, int threads,
                     Interrupt& interrupt);

// The same for a single query that other members search for at the same time, each in its own shards. Rounds, coverage
// and guarantee are about all of them; hits, counts and seconds are this member's own.
Answer search_shared(const Corpus& corpus, const Query& query, int64_t k, const Policy& policy, int threads,
                     Exchange& exchange, Interrupt& interrupt);

}  // namespace maxsieve
