#include "index/corpus.hpp"

#include <algorithm>
#include <utility>

namespace maxsieve {

Corpus::Corpus(int64_t d, std::vector<Segment> segments, const Codebook* codebook, Lists lists)
    : d_(d),
      sequenced_(!segments.empty() && segments.front().sequence != nullptr),
      codebook_(codebook),
      lists_(std::move(lists)),
      segments_(std::move(segments)),
      starts_{0} {
    for (const Segment& segment : segments_) {
        starts_.push_back(starts_.back() + segment.documents);
        tokens_ += segment.offsets[segment.documents] - segment.offsets[0];
        coded_ = coded_ && (segment.codes != nullptr || segment.bits > 0);
        const bool known = std::ranges::find(books_, segment.book) != books_.end();
        if (segment.book != nullptr && !known) books_.push_back(segment.book);
    }
}

Document Corpus::at(int64_t position, size_t& hint) const {
    if (hint >= segments_.size() || position < starts_[hint] || position >= starts_[hint + 1]) {
        const auto after = std::upper_bound(starts_.begin(), starts_.end(), position);
        hint = static_cast<size_t>(after - starts_.begin()) - 1;
    }
    return {segments_[hint], position - starts_[hint]};
}

}  // namespace maxsieve
