// The result of a search for one query.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "search/top_k.hpp"
#include "search/trace.hpp"

namespace maxsieve {

enum class Guarantee { exact, pac, none };

struct Round {
    int64_t active, revealed;
    double threshold;
};

struct Answer {
    std::vector<Scored> hits;
    Guarantee guarantee = Guarantee::exact;
    double coverage = 1.0;
    int64_t survivors = -1;  // candidates that passed tier 0; without tier 0, `search` sets all candidates
    int64_t rescored = 0;
    std::vector<Round> rounds;
    std::vector<std::pair<const char*, double>> stages;   // seconds of each
    std::vector<std::pair<const char*, int64_t>> counts;  // what a walk of lists has read; empty without one
    const char* isa = nullptr;                            // the kernel that ran
    double seconds = 0.0;
    std::unique_ptr<Trace> trace;  // null unless it was asked for
};

}  // namespace maxsieve
