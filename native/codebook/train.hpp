// Makes a codebook by spherical k-means on a sample of tokens. Two levels make the cost C sqrt(C), not C^2.
//
// First it finds heads for about sqrt(C) groups. Then each group gets its share of the C centroids. Then two rounds
// over all centroids use the same search that assigns tokens later. All sums are sums of integers (codes times a
// fixed-point weight that gives every token unit length), and norms are computed in lane order. So a sample gives the
// same codebook on every CPU and with any number of threads.
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

class TrainedCodebook {
  public:
    // `centroids` is a power of two. The sample must not be empty.
    TrainedCodebook(const Sample& sample, int64_t centroids, uint64_t seed, const Kernel& kernel, Crew& crew);

    Codebook view() const;

    std::vector<int8_t> heads, codes;
    std::vector<int64_t> starts;
    std::vector<float> length;
    float scale = 0.0F;

  private:
    int64_t d_;
};

}  // namespace maxsieve
