// What the members of one search over several shards tell each other. Each member runs the same policy on its own
// documents. Where the policy needs a number about all documents, every member offers what it knows, and all of them
// get the same reply. maxsieve/cluster/agreement.py merges the offers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace maxsieve {

struct Offer {
    enum class Kind { kth, sum, max };

    Kind kind;
    int64_t k = 0;               // kth: which one is asked for, of the values of all members
    std::vector<double> values;  // kth: the k largest of this member, or all if it has fewer; else one number
    // kth: breaks ties between values, the lower first; nothing where equal values are equal.
    std::optional<std::vector<double>> orders = std::nullopt;
};

// The offer of one number, of which the sum or the largest over all members is asked for.
Offer offer_sum(int64_t number);
Offer offer_max(double number);

// The offer of some numbers, of which the k-th largest is asked for.
Offer offer_kth(std::span<const double> values, int64_t k);

class Exchange {
  public:
    virtual ~Exchange() = default;

    // The replies to the offers, which every member makes in the same order: a number for each, and for one with
    // orders a second number, that of the k-th. Where all members have fewer than k, the k-th is -infinity, and its
    // order infinity. Call it from the thread that called the search.
    virtual std::vector<double> share(std::vector<Offer> offers) = 0;
};

}  // namespace maxsieve
