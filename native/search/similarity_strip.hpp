// The similarities of a query to all centroids, as bytes; `similarity_table` in spec/codebook.py is the definition.
#pragma once

#include <cstdint>
#include <vector>

#include "codebook/codebook.hpp"
#include "kernels/kernel.hpp"
#include "search/query.hpp"
#include "threads/crew.hpp"

namespace maxsieve {

// The columns of 32 or 64 query tokens: [centroids][width] bytes. With 16,384 centroids, 32 columns take half a
// megabyte, which fits into L2. The strips of a long query use the same memory, one after the other.
class SimilarityStrip {
  public:
    SimilarityStrip(const Kernel& kernel, const Codebook& book, const QueryCodes& query, Crew& crew);

    // Fills in the columns of the query tokens from `first` on. Returns how many there are: 0 after the last.
    int64_t fill(int64_t first);

    // sums[s] += the sum of the columns' maxima over the tokens of document s.
    void add_to(const CentroidSpan* spans, int64_t count, int32_t* sums) const;

  private:
    const Kernel& kernel_;
    const Codebook& book_;
    const QueryCodes& query_;
    Crew& crew_;
    double largest_;  // no similarity is larger
    int64_t width_ = 0;
    std::vector<uint8_t> bytes_;
};

}  // namespace maxsieve
