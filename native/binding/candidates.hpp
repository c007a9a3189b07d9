// Positions of documents that a caller gives.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "binding/arrays.hpp"
#include "index/corpus.hpp"

namespace maxsieve {

inline void require_position(int64_t position, const Corpus& corpus) {
    require(position >= 0 && position < corpus.documents(), "no document at this position");
}

// Positions that were found to ascend. To find that out takes as long as a walk of lists, if there are a million.
class Candidates {
  public:
    explicit Candidates(Flat<const int64_t> array) : array_(std::move(array)) {
        const auto all = positions();
        require(all.empty() || all.front() >= 0, "positions begin with 0");
        for (size_t p = 1; p < all.size(); ++p) require(all[p - 1] < all[p], "candidates must ascend");
    }

    std::span<const int64_t> positions() const { return {array_.data(), array_.shape(0)}; }

    std::span<const int64_t> positions_in(const Corpus& corpus) const {
        const auto all = positions();
        if (!all.empty()) require_position(all.back(), corpus);
        return all;
    }

  private:
    Flat<const int64_t> array_;
};

}  // namespace maxsieve
