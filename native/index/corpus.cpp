#include "index/corpus.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "compiler.hpp"

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

double Document::largest_factor() const {
    if (segment_->factors == nullptr) return 0.0;
    // Pairs of bytes, of which the second is u_j.
    typedef uint8_t Bytes MAXSIEVE_VECTOR(16);
    const uint8_t* factors = segment_->factors + 2 * first_;
    Bytes largest = {};
    uint8_t result = 0;
    int64_t i = 0;
    for (; i + 16 <= 2 * length_; i += 16) {
        Bytes some;
        std::memcpy(&some, factors + i, sizeof some);
        largest = some > largest ? some : largest;
    }
    for (int k = 1; k < 16; k += 2) result = std::max<uint8_t>(result, largest[k]);
    for (++i; i < 2 * length_; i += 2) result = std::max(result, factors[i]);
    return static_cast<double>(result);
}

Document Corpus::at(int64_t position, size_t& hint) const {
    if (hint >= segments_.size() || position < starts_[hint] || position >= starts_[hint + 1]) {
        const auto after = std::upper_bound(starts_.begin(), starts_.end(), position);
        hint = static_cast<size_t>(after - starts_.begin()) - 1;
    }
    return {segments_[hint], position - starts_[hint]};
}

}  // namespace maxsieve
