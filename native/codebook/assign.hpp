// Finds the centroid of each token from the token's codes; `assign` in spec/codebook.py is the definition.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "codebook/codebook.hpp"
#include "kernels/kernel.hpp"
#include "numeric/aligned_bytes.hpp"
#include "threads/crew.hpp"

namespace maxsieve {

// Groups of which the members are searched for a token of tier 0, and the most that may be.
constexpr int64_t kProbes = 8;

class Assigner {
  public:
    // `probes`: groups of which the members are searched, 1 to kProbes.
    Assigner(const Kernel& kernel, const Codebook& book, int64_t probes);

    // ids[j] of the tokens with codes [tokens][stride], on the crew's threads.
    void assign(const int8_t* codes, int64_t tokens, uint32_t* ids, Crew& crew);

  private:
    // Codes packed for dot products. Rows of zeros fill the last panel.
    struct Packed {
        int64_t real = 0, lanes = 0;
        AlignedBytes bytes;
    };
    struct Scratch;

    Packed pack(const int8_t* codes, int64_t count) const;
    const Packed& group(int64_t g);
    void assign_block(const int8_t* codes, int64_t tokens, uint32_t* ids, Scratch& scratch, Interrupt& interrupt);

    const Kernel& kernel_;
    const Codebook book_;
    int64_t probes_, stride_, block_;
    Packed heads_;
    std::vector<Packed> groups_;  // packed when they are first searched
    std::unique_ptr<std::once_flag[]> packed_;
};

}  // namespace maxsieve
