// A query's similarities to all centroids, as bytes; spec/codebook.py's `similarity_table` is the definition.
#pragma once

#include <cstdint>
#include <vector>

#include "codebook/codebook.hpp"
#include "kernels/kernel.hpp"
#include "search/query.hpp"
#include "threads/crew.hpp"

namespace maxsieve {

// The columns of 32 or 64 query tokens: [centroids][width] bytes. Up to 16,384 centroids 32 columns are half a
// megabyte, which an L2 cache holds. A long query has one strip after the other in the same memory.
class SimilarityStrip {
  public:
    SimilarityStrip(const Kernel& kernel, const Codebook& book, const QueryCodes& query, Crew& crew);

    // Fills in the columns of the query tokens from `first` on; returns how many there are, 0 behind the last.
    int64_t fill(int64_t first);

    // sums[s] += what the columns add to the proxies of some documents.
    void add_to(const CentroidSpan* spans, int64_t count, int32_t* sums) const;

  private:
    const Kernel& kernel_;
    const Codebook& book_;
    const QueryCodes& query_;
    Crew& crew_;
    double largest_;  // the largest similarity that there can be
    int64_t width_ = 0;
    std::vector<uint8_t> bytes_;
};

}  // namespace maxsieve
