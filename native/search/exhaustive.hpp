// The exhaustive policy: canonical scores of all candidates.
#pragma once

#include "search/policy.hpp"

namespace maxsieve {

class Exhaustive : public Policy {
  public:
    const char* name() const override { return "Exhaustive"; }
    std::vector<Answer> search(const Task& task) const override;
    size_t bytes_kept() const override { return sizeof(float); }
    bool needs_codes() const override { return false; }
};

}  // namespace maxsieve
