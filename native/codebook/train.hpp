// Makes a codebook by spherical k-means on a sample of tokens. Two levels make the cost C sqrt(C), not C^2.
//
// First heads for the groups, then, within each group, its share of the C centroids; then two rounds over all of them
// with the search that assigns tokens later. Sums are of integers (codes times a fixed-point weight that gives
// every token unit length) and norms in lane order, so that a sample gives the same codebook on any CPU and any number
// of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "codebook/codebook.hpp"
#include "kernels/kernel.hpp"
#include "threads/crew.hpp"

namespace maxsieve {

// Tokens to learn from: codes [tokens][code_stride(d)], and for each token the scale of its document.
struct Sample {
    int64_t d, tokens;
    const int8_t* codes;
    const float* scale;
};

// How many groups and centroids to make, of how many groups the members are searched for a token's centroid, and how
// many tokens of the sample for each group its heads are learned from.
struct CodebookShape {
    int64_t groups, centroids, probes, head_sample;

    // That of tier 0: about as many groups as centroids in each.
    static CodebookShape of_tier0(int64_t centroids);
};

class TrainedCodebook {
  public:
    // There must be a token, and as many centroids as groups.
    TrainedCodebook(const Sample& sample, const CodebookShape& shape, uint64_t seed, const Kernel& kernel, Crew& crew);

    Codebook view() const;

    std::vector<int8_t> heads, codes;
    std::vector<int64_t> starts;
    std::vector<float> length;
    float scale = 0.0F;

  private:
    int64_t d_;
};

}  // namespace maxsieve
