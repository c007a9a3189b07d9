#include "search/direct.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "index/normalise.hpp"
#include "kernels/table.hpp"
#include "search/canonical.hpp"
#include "threads/crew.hpp"

namespace maxsieve {
namespace {

// Numbers in a piece of rows. 32 KiB of floats stay in cache while the panels of all queries pass over them and while
// they are checked. The interrupt is checked for each piece, too.
constexpr int64_t kPieceNumbers = 8192;

class DirectScorer {
  public:
    DirectScorer(const InputRows& input, std::span<const int64_t> offsets, const std::vector<Panels>& panels,
                 Interrupt& interrupt)
        : input_(input), offsets_(offsets), panels_(panels), interrupt_(interrupt) {
        for (const Panels& query : panels) best_.emplace_back(static_cast<size_t>(query.padded_tokens()));
    }

    // Returns false if document i has a bad value. Otherwise writes its score for query q to out[q * step].
    bool score(int64_t i, int64_t d, float* out, size_t step) {
        for (auto& best : best_) std::ranges::fill(best, -std::numeric_limits<float>::infinity());
        const int64_t most = std::max<int64_t>(1, kPieceNumbers / d);
        const int64_t end = offsets_[static_cast<size_t>(i) + 1];
        for (int64_t first = offsets_[static_cast<size_t>(i)]; first < end; first += most) {
            const int64_t count = std::min(most, end - first);
            const float* rows = input_.in_place(first, count);
            if (rows == nullptr) {
                scratch_.resize(static_cast<size_t>(most * d));
                input_.read(first, count, kernel_, scratch_.data());
                rows = scratch_.data();
            }
            for (size_t q = 0; q < panels_.size(); ++q) {
                interrupt_.check();
                kernel_.cells(panels_[q].data(), panels_[q].tokens(), d, rows, count, best_[q].data());
            }
            // Checked last, when the rows are in cache. A check at the start would wait for memory without other work
            // to do.
            if (first_invalid_row(kernel_, rows, count, d) >= 0) return false;
        }
        for (size_t q = 0; q < panels_.size(); ++q) {
            out[q * step] = canonical_sum({best_[q].data(), static_cast<size_t>(panels_[q].tokens())});
        }
        return true;
    }

  private:
    const InputRows& input_;
    std::span<const int64_t> offsets_;
    const std::vector<Panels>& panels_;
    Interrupt& interrupt_;
    const Kernel& kernel_ = current_kernel();
    std::vector<std::vector<float>> best_;
    std::vector<float> scratch_;
};

}  // namespace

DirectScores score_directly(const InputRows& input, int64_t d, std::span<const int64_t> offsets,
                            std::span<const Query> queries, int threads, Interrupt& interrupt) {
    constexpr int64_t kGrain = 4;
    const auto documents = static_cast<int64_t>(offsets.size()) - 1;
    std::vector<Panels> panels;
    for (const Query& query : queries) panels.emplace_back(query.rows, query.tokens, d);
    const int64_t tasks = (documents + kGrain - 1) / kGrain;
    Crew crew(static_cast<int>(std::clamp<int64_t>(tasks, 1, threads)), interrupt);
    std::vector<std::vector<DirectScorer>> scorers(static_cast<size_t>(crew.size()));  // one each, made when needed
    DirectScores result{std::vector<float>(panels.size() * static_cast<size_t>(documents)), -1};
    std::atomic<int64_t> first_bad{documents};
    crew.run(tasks, [&](int64_t task, int worker) {
        auto& mine = scorers[static_cast<size_t>(worker)];
        if (mine.empty()) mine.emplace_back(input, offsets, panels, interrupt);
        for (int64_t i = task * kGrain; i < std::min((task + 1) * kGrain, documents); ++i) {
            if (mine.front().score(i, d, result.scores.data() + i, static_cast<size_t>(documents))) continue;
            int64_t known = first_bad.load();
            while (i < known && !first_bad.compare_exchange_weak(known, i)) {
            }
            return;
        }
    });
    if (const int64_t bad = first_bad.load(); bad < documents) result.first_invalid = bad;
    return result;
}

}  // namespace maxsieve
