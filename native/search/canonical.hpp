// The canonical score of a document: similarities as float32 chains, their maximum over its tokens, a float64 sum,
// rounded to float32.
#pragma once

#include <span>
#include <vector>

#include "index/corpus.hpp"
#include "kernels/kernel.hpp"
#include "search/query.hpp"
#include "threads/interrupt.hpp"

namespace maxsieve {

// The canonical score, from its cells.
float canonical_sum(std::span<const float> cells);

// One for each worker: it keeps scratch memory.
class CanonicalScorer {
  public:
    CanonicalScorer(const Kernel& kernel, const Panels& panels, Interrupt& interrupt);

    float score(const Document& document);  // -infinity for an empty document

    // The best similarity of each query token; -infinity for an empty document. Valid until the next call.
    std::span<const float> cells(const Document& document);

    // For each query token: its best document token (the first of equal ones), and their similarity.
    void explain(const Document& document, int64_t* tokens, float* similarities);

  private:
    const float* float_rows(const Document& document, int64_t first, int64_t count);

    const Kernel& kernel_;
    const Panels& panels_;
    Interrupt& interrupt_;
    int64_t piece_;
    std::vector<float> best_, widened_;
};

}  // namespace maxsieve
