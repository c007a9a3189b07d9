// The paper's policy, Algorithm 1: reveal query tokens in blocks, and drop documents that can't be hits any more.
#pragma once

#include <cstdint>

#include "search/policy.hpp"

namespace maxsieve {

enum class Radius { paper, serfling };

struct BanditKnobs {
    double alpha, delta;
    int64_t margin, block;
    uint64_t seed;
    Radius radius;
};

class Bandit : public Policy {
  public:
    explicit Bandit(const BanditKnobs& knobs) : knobs_(knobs) {}
    const char* name() const override { return "Bandit"; }
    std::vector<Answer> search(const Task& task) const override;
    size_t bytes_kept() const override;

  private:
    BanditKnobs knobs_;
};

}  // namespace maxsieve
