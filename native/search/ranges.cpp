#include "search/ranges.hpp"

#include <algorithm>

namespace maxsieve {

std::vector<Range> ranges(const Corpus& corpus, std::span<const int64_t> positions, int threads,
                          int64_t most_documents) {
    const auto count = static_cast<int64_t>(positions.size());
    std::vector<Range> ranges;
    if (threads == 1) {  // nothing to balance, so the lengths need not be read
        for (int64_t i = 0; i < count; i += most_documents) ranges.push_back({i, std::min(i + most_documents, count)});
        return ranges;
    }
    std::vector<int64_t> lengths;
    lengths.reserve(positions.size());
    int64_t tokens = 0;
    size_t hint = 0;
    for (const int64_t position : positions) {
        lengths.push_back(corpus.at(position, hint).length());
        tokens += lengths.back();
    }
    const int64_t most_tokens = tokens / (16 * threads);
    for (int64_t i = 0; i < count;) {
        const int64_t first = i;
        for (int64_t held = 0; i < count && i - first < most_documents && (i == first || held < most_tokens); ++i) {
            held += lengths[static_cast<size_t>(i)];
        }
        ranges.push_back({first, i});
    }
    return ranges;
}

}  // namespace maxsieve
