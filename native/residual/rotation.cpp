#include "residual/rotation.hpp"

#include <bit>
#include <cmath>

#include "numeric/splitmix64.hpp"

namespace maxsieve {
namespace {

void multiply(float* row, const std::vector<float>& signs) {
    for (size_t k = 0; k < signs.size(); ++k) row[k] *= signs[k];
}

// Pairs of numbers at a distance of `half` become their sum and their difference.
void pair_up(float* block, int64_t n, int64_t half) {
    for (int64_t first = 0; first < n; first += 2 * half) {
        float* __restrict low = block + first;
        float* __restrict high = low + half;
        for (int64_t k = 0; k < half; ++k) {
            const float a = low[k], b = high[k];
            low[k] = a + b;
            high[k] = a - b;
        }
    }
}

}  // namespace

Rotation::Rotation(int64_t d) : d_(d) {
    for (auto left = static_cast<uint64_t>(d); left > 0; left -= std::bit_floor(left)) {
        const auto block = static_cast<int64_t>(std::bit_floor(left));
        blocks_[0].push_back(block);
        blocks_[1].insert(blocks_[1].begin(), block);
    }
    for (int turn = 0; turn < 2; ++turn) {
        SplitMix64 random(static_cast<uint64_t>(turn));
        uint64_t word = 0;
        for (int64_t k = 0; k < d; ++k) {
            if (k % 64 == 0) word = random.word();
            signs_[turn].push_back((word >> (k % 64) & 1) != 0 ? -1.0F : 1.0F);
        }
    }
}

void Rotation::butterflies(float* row, int turn) const {
    for (const int64_t n : blocks_[turn]) {
        for (int64_t half = 1; half < n; half *= 2) pair_up(row, n, half);
        const auto factor = static_cast<float>(1.0 / std::sqrt(static_cast<double>(n)));
        for (int64_t k = 0; k < n; ++k) row[k] *= factor;
        row += n;
    }
}

void Rotation::forwards(float* rows, int64_t count) const {
    for (int64_t j = 0; j < count; ++j, rows += d_) {
        for (int turn = 0; turn < 2; ++turn) {
            multiply(rows, signs_[turn]);
            butterflies(rows, turn);
        }
    }
}

void Rotation::backwards(float* rows, int64_t count) const {
    for (int64_t j = 0; j < count; ++j, rows += d_) {
        for (int turn = 1; turn >= 0; --turn) {
            butterflies(rows, turn);
            multiply(rows, signs_[turn]);
        }
    }
}

}  // namespace maxsieve
