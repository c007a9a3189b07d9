#include "search/similarity_strip.hpp"

#include <algorithm>

#include "numeric/aligned_bytes.hpp"

namespace maxsieve {
namespace {

// Centroids of a task. Their dot products with a strip of query tokens stay in L1.
constexpr int64_t kPiece = 64;

// Memory that a thread reuses for its tasks.
struct StripScratch {
    std::vector<int32_t> dots;
    AlignedBytes kernel;
};

}  // namespace

SimilarityStrip::SimilarityStrip(const Kernel& kernel, const Codebook& book, const QueryCodes& query, Crew& crew)
    : kernel_(kernel),
      book_(book),
      query_(query),
      crew_(crew),
      largest_(*std::max_element(query.norm.begin(), query.norm.end()) * static_cast<double>(book.longest)) {}

int64_t SimilarityStrip::fill(int64_t first) {
    const int64_t tokens = std::min<int64_t>(64, query_.tokens - first);
    if (tokens <= 0) return 0;
    width_ = tokens > 32 ? 64 : 32;
    bytes_.resize(static_cast<size_t>(book_.centroids * width_));
    // Columns without a query token have zero codes and the factor 0.
    const std::vector<int8_t> nothing(static_cast<size_t>(query_.stride));
    std::vector<const int8_t*> rows(static_cast<size_t>(width_), nothing.data());
    std::vector<float> factor(static_cast<size_t>(width_), 0.0F);
    for (int64_t t = 0; t < tokens; ++t) {
        rows[static_cast<size_t>(t)] = query_.row(first + t);
        const double scale =
            static_cast<double>(query_.scale[static_cast<size_t>(first + t)]) * static_cast<double>(book_.scale);
        if (largest_ > 0.0) factor[static_cast<size_t>(t)] = static_cast<float>(scale * 255.0 / largest_);
    }
    const PackedCodes packed(kernel_, rows, query_.stride);
    std::vector<StripScratch> scratches(static_cast<size_t>(crew_.size()));
    crew_.run((book_.centroids + kPiece - 1) / kPiece, [&](int64_t task, int worker) {
        StripScratch& mine = scratches[static_cast<size_t>(worker)];
        mine.dots.resize(static_cast<size_t>(kPiece * width_));
        mine.kernel.resize(scratch_bytes(query_.stride));
        const int64_t c = task * kPiece, count = std::min(kPiece, book_.centroids - c);
        kernel_.dots(packed.data(), width_, query_.stride, book_.codes + c * query_.stride, count, mine.dots.data(),
                     mine.kernel.data());
        kernel_.to_bytes(mine.dots.data(), width_, book_.length + c, factor.data(), width_, count,
                         bytes_.data() + c * width_);
    });
    return tokens;
}

void SimilarityStrip::add_to(const CentroidSpan* spans, int64_t count, int32_t* sums) const {
    kernel_.lookup(bytes_.data(), width_, book_.centroids, spans, count, sums);
}

}  // namespace maxsieve
