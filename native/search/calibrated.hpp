// The calibrated policy: the certified top K of the first n documents by tier 0. How large n must be is not decided
// here; docs/theory.md has the theorem.
#pragma once

#include "search/policy.hpp"

namespace maxsieve {

class Calibrated final : public Policy {
  public:
    // `mean_length`: tokens of a document that can be a hit, on average over all of them, all shards included.
    Calibrated(int64_t depth, double mean_length) : depth_(depth), mean_length_(mean_length) {}

    const char* name() const override { return "Calibrated"; }
    std::vector<Answer> search(const Task& task) const override;
    size_t bytes_kept() const override;
    bool needs_codebook() const override { return true; }

  private:
    int64_t depth_;  // n
    double mean_length_;
};

}  // namespace maxsieve
