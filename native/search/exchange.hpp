// How the members of one search over several shards exchange numbers. Each member runs the same policy on its own
// documents. If the policy needs a number about all documents, every member offers what it knows, and all members get
// the same reply. maxsieve/cluster/agreement.py merges the offers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace maxsieve {

struct Offer {
    enum class Kind { kth, sum, max };

    Kind kind;
    int64_t k = 0;               // kth: the k-th largest of the values of all members is asked for
    std::vector<double> values;  // kth: the k largest of this member, or all if it has fewer; sum, max: one number
    // kth: breaks ties between values, the lower order first. Without orders, equal values need no order.
    std::optional<std::vector<double>> orders = std::nullopt;
};

// Offers one number, and asks for the sum or the maximum over all members.
Offer offer_sum(int64_t number);
Offer offer_max(double number);

// Offers numbers, and asks for the k-th largest of all members.
Offer offer_kth(std::span<const double> values, int64_t k);

class Exchange {
  public:
    virtual ~Exchange() = default;

    // The replies to the offers. Every member makes the same offers in the same order. A reply has one number for each
    // offer, and after it the order of the k-th if the offer has orders. If all members together have fewer than k
    // values, the k-th is -infinity, and its order is infinity. Call it from the thread that called the search.
    virtual std::vector<double> share(std::vector<Offer> offers) = 0;
};

}  // namespace maxsieve
