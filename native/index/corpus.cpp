#include "index/corpus.hpp"

#include <algorithm>
#include <utility>

#include "kernels/kernel.hpp"

namespace maxsieve {

Corpus::Corpus(int64_t d, std::vector<Segment> segments)
    : d_(d), stride_(code_stride(d)), segments_(std::move(segments)), starts_{0} {
    for (const Segment& segment : segments_) {
        starts_.push_back(starts_.back() + segment.documents);
        tokens_ += segment.offsets[segment.documents] - segment.offsets[0];
    }
}

Document Corpus::at(int64_t position, size_t& hint) const {
    if (hint >= segments_.size() || position < starts_[hint] || position >= starts_[hint + 1]) {
        const auto after = std::upper_bound(starts_.begin(), starts_.end(), position);
        hint = static_cast<size_t>(after - starts_.begin()) - 1;
    }
    const Segment& segment = segments_[hint];
    const int64_t local = position - starts_[hint];
    const int64_t first = segment.offsets[local];
    const auto* bytes = static_cast<const char*>(segment.rows);
    Document document{
        .length = segment.offsets[local + 1] - first,
        .rows = bytes + first * d_ * (segment.half ? 2 : 4),
        .half = segment.half,
        .codes = nullptr,
        .scale = 0.0F,
        .rho = 0.0F,
        .nu = 0.0F,
    };
    if (segment.codes != nullptr) {
        document.codes = segment.codes + first * stride_;
        document.scale = segment.scale[local];
        document.rho = segment.rho[local];
        document.nu = segment.nu[local];
    }
    return document;
}

}  // namespace maxsieve
