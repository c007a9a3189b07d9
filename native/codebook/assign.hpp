// The centroid of each token, from its codes; spec/codebook.py's `assign` is the definition.
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

// Groups of which the members are searched.
constexpr int64_t kProbes = 8;

class Assigner {
  public:
    Assigner(const Kernel& kernel, const Codebook& book);

    // ids[j] of the tokens with codes [tokens][stride], on the crew's threads.
    void assign(const int8_t* codes, int64_t tokens, uint16_t* ids, Crew& crew);

  private:
    // Rows of codes packed for dot products, with zero rows up to whole panels behind them.
    struct Packed {
        int64_t real = 0, lanes = 0;
        AlignedBytes bytes;
    };
    struct Scratch;

    Packed pack(const int8_t* codes, int64_t count) const;
    const Packed& group(int64_t g);
    void assign_block(const int8_t* codes, int64_t tokens, uint16_t* ids, Scratch& scratch);

    const Kernel& kernel_;
    const Codebook book_;
    int64_t stride_;
    Packed heads_;
    std::vector<Packed> groups_;  // each packed when it is first searched
    std::unique_ptr<std::once_flag[]> packed_;
};

}  // namespace maxsieve
