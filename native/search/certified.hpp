// The certified policy: the same hits as the exhaustive policy, with a proof.
#pragma once

#include "search/bounds.hpp"
#include "search/policy.hpp"

namespace maxsieve {

class Certified : public Policy {
  public:
    const char* name() const override { return "Certified"; }
    std::vector<Answer> search(const Task& task) const override;
    size_t bytes_kept() const override { return CertifiedBounds::kBytes; }
};

}  // namespace maxsieve
