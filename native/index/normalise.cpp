#include "index/normalise.hpp"

#include <cmath>
#include <cstdint>

#include "compiler.hpp"
#include "numeric/vectors.hpp"

namespace maxsieve {

int64_t first_invalid_row(const Kernel& kernel, const float* rows, int64_t count, int64_t d) {
    if (kernel.all_valid(rows, count * d)) return -1;
    for (int64_t j = 0; j < count; ++j) {
        if (!kernel.all_valid(rows + j * d, d)) return j;
    }
    return -1;
}

void normalise(float* rows, int64_t count, int64_t d) {
    for (int64_t j = 0; j < count; ++j) {
        float* row = rows + j * d;
        F64x8 lanes = {};
        for (int64_t k = 0; k < d; k += kLanes) {
            const F64x8 wide = MAXSIEVE_CONVERT(load_lanes<F32x8>(row + k, d - k), F64x8);
            lanes += wide * wide;
        }
        const double norm = std::sqrt(fold(lanes));
        if (norm == 0.0) continue;
        for (int64_t k = 0; k < d; ++k) row[k] = static_cast<float>(static_cast<double>(row[k]) / norm);
    }
}

}  // namespace maxsieve
