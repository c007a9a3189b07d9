#include "search/similarity_table.hpp"

#include <algorithm>

namespace maxsieve {
namespace {

// Centroids of a task: their dot products with a strip of query tokens stay in L1.
constexpr int64_t kPiece = 64;

// What a thread keeps from task to task.
struct Scratch {
    std::vector<int32_t> dots;
    AlignedBytes kernel;
};

int64_t width_for(int64_t tokens) {
    return tokens > 32 ? 64 : 32;
}

// factor_t of the query's tokens from `first` on, zeros behind the last.
std::vector<float> factors(const Codebook& book, const QueryCodes& query, double largest, int64_t first,
                           int64_t width) {
    std::vector<float> factor(static_cast<size_t>(width), 0.0F);
    if (largest == 0.0) return factor;
    for (int64_t t = first; t < std::min(query.tokens, first + width); ++t) {
        const double scale = static_cast<double>(query.scale[static_cast<size_t>(t)]) * static_cast<double>(book.scale);
        factor[static_cast<size_t>(t - first)] = static_cast<float>(scale * 255.0 / largest);
    }
    return factor;
}

}  // namespace

SimilarityTable::SimilarityTable(const Kernel& kernel, const Codebook& book, const QueryCodes& query, Crew& crew)
    : centroids_(book.centroids), tokens_(query.tokens) {
    const double norm = *std::max_element(query.norm.begin(), query.norm.end());
    const std::vector<int8_t> nothing(static_cast<size_t>(query.stride));
    for (int64_t first = 0; first < query.tokens; first += strips_.back().width) {
        const int64_t width = width_for(query.tokens - first);
        std::vector<const int8_t*> rows(static_cast<size_t>(width), nothing.data());
        for (int64_t t = first; t < std::min(query.tokens, first + width); ++t) {
            rows[static_cast<size_t>(t - first)] = query.row(t);
        }
        const PackedCodes packed(kernel, rows, query.stride);
        const std::vector<float> factor = factors(book, query, norm * static_cast<double>(book.longest), first, width);
        Strip& strip =
            strips_.emplace_back(Strip{width, std::vector<uint8_t>(static_cast<size_t>(centroids_ * width))});
        std::vector<Scratch> scratches(static_cast<size_t>(crew.size()));
        crew.run((centroids_ + kPiece - 1) / kPiece, [&](int64_t task, int worker) {
            Scratch& mine = scratches[static_cast<size_t>(worker)];
            mine.dots.resize(static_cast<size_t>(kPiece * width));
            mine.kernel.resize(scratch_bytes(query.stride));
            const int64_t c = task * kPiece, count = std::min(kPiece, centroids_ - c);
            kernel.dots(packed.data(), width, query.stride, book.codes + c * query.stride, count, mine.dots.data(),
                        mine.kernel.data());
            kernel.to_bytes(mine.dots.data(), width, book.length + c, factor.data(), width, count,
                            strip.bytes.data() + c * width);
        });
    }
}

}  // namespace maxsieve
