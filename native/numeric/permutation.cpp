#include "numeric/permutation.hpp"

#include <numeric>
#include <utility>

#include "numeric/splitmix64.hpp"

namespace maxsieve {

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
