// The calibrated policy: the certified top K of the n documents with the largest proxies of tier 0. The caller chooses
// n; docs/theory.md has the theorem.
#pragma once

#include "search/policy.hpp"

namespace maxsieve {

class Calibrated final : public Policy {
  public:
    // `mean_length`: the mean number of tokens of the documents that can be hits, over all shards.
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
