// Canonical scores of documents in a caller's arrays: without an index, and without a copy if the arrays are float32.
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
    int64_t first_invalid;      // the first document with a bad value, or -1; if there is one, `scores` is meaningless
};

// Document i has the rows offsets[i]..offsets[i + 1] - 1 of `input`. A row has d numbers.
DirectScores score_directly(const InputRows& input, int64_t d, std::span<const int64_t> offsets,
                            std::span<const Query> queries, int threads, Interrupt& interrupt);

}  // namespace maxsieve
