// A query's similarities to all centroids, as bytes; spec/codebook.py's `similarity_table` is the definition.
#pragma once

#include <cstdint>
#include <vector>

#include "codebook/codebook.hpp"
#include "kernels/kernel.hpp"
#include "search/query.hpp"
#include "threads/crew.hpp"

namespace maxsieve {

// In strips of 32 or 64 query tokens, each a table of its own: [centroids][width]. Up to 16,384 centroids a strip of 32
// is half a megabyte, which an L2 cache holds.
class SimilarityTable {
  public:
    struct Strip {
        int64_t width;
        std::vector<uint8_t> bytes;
    };

    SimilarityTable(const Kernel& kernel, const Codebook& book, const QueryCodes& query, Crew& crew);

    int64_t centroids() const { return centroids_; }
    const std::vector<Strip>& strips() const { return strips_; }
    // The largest proxy that there can be.
    int64_t largest_sum() const { return 255 * tokens_; }

  private:
    int64_t centroids_, tokens_;
    std::vector<Strip> strips_;
};

}  // namespace maxsieve
