// Canonical scores of documents where they lie in a caller's arrays: no index, and no copy of what is float32 already.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/input_rows.hpp"
#include "search/query.hpp"
#include "threads/interrupt.hpp"

namespace maxsieve {

struct DirectScores {
    std::vector<float> scores;  // [queries][documents], -infinity for empty documents
    int64_t first_invalid;      // the first document with a value that is refused, or -1; then the scores mean nothing
};

// Document i has the rows offsets[i]..offsets[i + 1] - 1 of `input`, of d numbers each.
DirectScores score_directly(const InputRows& input, int64_t d, std::span<const int64_t> offsets,
                            std::span<const Query> queries, int threads, Interrupt& interrupt);

}  // namespace maxsieve
