// The calibrated policy: the certified top K of the first n documents by tier 0. How large n must be is not decided
// here; docs/theory.md has the theorem.
#pragma once

#include "search/policy.hpp"

namespace maxsieve {

class Calibrated final : public Policy {
  public:
    explicit Calibrated(int64_t depth) : depth_(depth) {}

    const char* name() const override { return "Calibrated"; }
    std::vector<Answer> search(const Task& task) const override;
    size_t bytes_kept() const override;
    bool needs_codebook() const override { return true; }

  private:
    int64_t depth_;  // n
};

}  // namespace maxsieve
