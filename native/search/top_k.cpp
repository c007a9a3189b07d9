#include "search/top_k.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace maxsieve {

std::vector<Scored> top_k(std::vector<Scored> all, int64_t k) {
    const auto count = std::min(all.size(), static_cast<size_t>(k));
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(), better);
    all.resize(count);
    all.shrink_to_fit();  // an answer may be kept for long: release the memory for all documents
    return all;
}

void KLargest::push(double x) {
    if (static_cast<int64_t>(heap_.size()) < k_) {
        heap_.push_back(x);
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    } else if (x > heap_.front()) {
        std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
        heap_.back() = x;
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }
}

double KLargest::kth() const {
    return static_cast<int64_t>(heap_.size()) < k_ ? -std::numeric_limits<double>::infinity() : heap_.front();
}

double kth_largest(std::span<const double> x, int64_t k) {
    // Small k: most numbers need one comparison. Large k: selection in linear time.
    if (k <= 128) {
        KLargest largest(k);
        for (const double number : x) largest.push(number);
        return largest.kth();
    }
    if (static_cast<int64_t>(x.size()) < k) return -std::numeric_limits<double>::infinity();
    std::vector<double> copy(x.begin(), x.end());
    const auto place = copy.begin() + (k - 1);
    std::nth_element(copy.begin(), place, copy.end(), std::greater<>());
    return *place;
}

}  // namespace maxsieve
