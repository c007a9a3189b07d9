// The calibrated policy: the certified top K of the first n documents by a cheap proxy, that of tier 0 or that of
// lists. How large n must be is not decided here; docs/theory.md has the theorem.
#pragma once

#include <optional>
#include <span>

#include "search/near_centroids.hpp"
#include "search/policy.hpp"

namespace maxsieve {

class Calibrated final : public Policy {
  public:
    // `mean_length`: tokens of a document that can be a hit, on average over all of them, all shards included. With
    // `walk`, the proxy is that of lists. The documents at the positions `added`, ascending, are all followed up: they
    // were added after the calibration, or have no lists yet.
    Calibrated(int64_t depth, double mean_length, std::optional<WalkShape> walk, std::span<const int64_t> added)
        : depth_(depth), mean_length_(mean_length), walk_(walk), added_(added) {}

    const char* name() const override { return "Calibrated"; }
    std::vector<Answer> search(const Task& task) const override;
    size_t bytes_kept() const override;
    bool needs_codebook() const override { return !walk_; }
    bool needs_lists() const override { return walk_.has_value(); }

  private:
    struct Chosen;
    Chosen choose_by_tier0(const Engine& engine, const Query& old, const Task& task) const;
    Chosen choose_by_lists(const Engine& engine, const Query& old, const Task& task) const;

    int64_t depth_;  // n
    double mean_length_;
    std::optional<WalkShape> walk_;
    std::span<const int64_t> added_;
};

}  // namespace maxsieve
