#include "numeric/permutation.hpp"

#include <numeric>
#include <utility>

namespace maxsieve {
namespace {

class SplitMix64 {
  public:
    explicit SplitMix64(uint64_t seed) : state_(seed) {}

    // A uniform number below n. Words below 2^64 mod n are rejected.
    uint64_t below(uint64_t n) {
        const uint64_t reject_below = (0 - n) % n;
        uint64_t word = next();
        while (word < reject_below) word = next();
        return word % n;
    }

  private:
    uint64_t next() {
        uint64_t word = state_ += 0x9E3779B97F4A7C15U;
        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9U;
        word = (word ^ (word >> 27)) * 0x94D049BB133111EBU;
        return word ^ (word >> 31);
    }
    uint64_t state_;
};

}  // namespace

std::vector<int64_t> permutation(int64_t tokens, uint64_t seed) {
    SplitMix64 random(seed);
    std::vector<int64_t> order(static_cast<size_t>(tokens));
    std::iota(order.begin(), order.end(), 0);
    for (size_t last = order.size() - 1; last > 0; --last) std::swap(order[last], order[random.below(last + 1)]);
    return order;
}

std::vector<int64_t> sample(int64_t count, int64_t wanted, uint64_t seed) {
    SplitMix64 random(seed);
    std::vector<int64_t> chosen;
    for (int64_t i = 0; i < count && static_cast<int64_t>(chosen.size()) < wanted; ++i) {
        const auto open = static_cast<uint64_t>(wanted) - chosen.size();
        if (random.below(static_cast<uint64_t>(count - i)) < open) chosen.push_back(i);
    }
    return chosen;
}

}  // namespace maxsieve
