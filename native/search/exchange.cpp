#include "search/exchange.hpp"

#include <algorithm>
#include <functional>

namespace maxsieve {

Offer offer_sum(int64_t number) {
    return {Offer::Kind::sum, 0, {static_cast<double>(number)}};
}

Offer offer_max(double number) {
    return {Offer::Kind::max, 0, {number}};
}

Offer offer_kth(std::span<const double> values, int64_t k) {
    Offer offer{Offer::Kind::kth, k, {values.begin(), values.end()}};
    if (static_cast<int64_t>(values.size()) > k) {
        std::nth_element(offer.values.begin(), offer.values.begin() + (k - 1), offer.values.end(), std::greater<>());
        offer.values.resize(static_cast<size_t>(k));
    }
    return offer;
}

}  // namespace maxsieve
