// Makes codes of rows of the rotated space; `encode` in spec/residual.py is the definition.
#pragma once

#include <cstdint>
#include <vector>

#include "codebook/codebook.hpp"
#include "kernels/kernel.hpp"

namespace maxsieve {

class ResidualEncoder {
  public:
    ResidualEncoder(const Kernel& kernel, const Codebook& book, int64_t bits);

    // The levels and factors of one document's rows [length][d], whose centroids are known, with its scale g and its
    // bound nu.
    struct Bounds {
        float scale, nu;
    };
    Bounds encode(const float* rows, const uint16_t* centroids, int64_t length, uint8_t* levels, uint8_t* factors);

  private:
    void encode_row(const float* row, double norm, double scale, int64_t centroid, uint8_t* levels, uint8_t* factors);

    const Kernel& kernel_;
    const Codebook& book_;
    int64_t bits_;
    ResidualSteps steps_;
    std::vector<double> centre_, residual_, level_;  // of one row, in whole lanes; zeros fill the last
    std::vector<float> decoded_;
};

}  // namespace maxsieve
