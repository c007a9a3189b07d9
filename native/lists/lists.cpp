#include "lists/lists.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace maxsieve {
namespace {

void must(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

}  // namespace

ListPart::ListPart(const Arrays& arrays) : arrays_(arrays), blocks_(0) {
    must(arrays.documents >= 1, "lists need a document");
    must(arrays.block >= 1 && arrays.block <= kMostOfBlock, "a block has 1 to 65,536 documents");
    must(arrays.centroids >= 1 && arrays.centroids <= Codebook::kMostCentroids, "1 to 1,048,576 centroids have lists");
    blocks_ = (arrays.documents + arrays.block - 1) / arrays.block;
    uint32_t lists = 0;
    const int64_t words = (arrays.centroids + 63) / 64;
    for (int64_t w = 0; w < words; ++w) {
        before_.push_back(lists);
        lists += static_cast<uint32_t>(std::popcount(arrays.present[w]));
    }
    const int64_t last = arrays.centroids % 64;
    must(last == 0 || arrays.present[words - 1] >> last == 0, "lists must be of centroids that there are");
    must(arrays.count_of_starts == lists * blocks_ + 1, "a start for each list and block, and the end");
    must(arrays.postings <= static_cast<int64_t>(UINT32_MAX), "lists have at most 4,294,967,295 members");
    must(arrays.starts[0] == 0 && arrays.starts[arrays.count_of_starts - 1] == arrays.postings,
         "lists must run from 0 to the number of members");
    must(std::is_sorted(arrays.starts, arrays.starts + arrays.count_of_starts), "starts of lists must not fall");
}

std::optional<int64_t> ListPart::list_of(int64_t centroid) const {
    const uint64_t word = arrays_.present[centroid / 64], bit = uint64_t{1} << (centroid % 64);
    if ((word & bit) == 0) return std::nullopt;
    return before_[static_cast<size_t>(centroid / 64)] + std::popcount(word & (bit - 1));
}

bool ListPart::has_sane_members() const {
    for (int64_t i = 0; i + 1 < arrays_.count_of_starts; ++i) {
        const int64_t block = i % blocks_, room = std::min(arrays_.block, arrays_.documents - block * arrays_.block);
        const uint16_t* begin = arrays_.members + arrays_.starts[i];
        const uint16_t* end = arrays_.members + arrays_.starts[i + 1];
        if (begin == end) continue;
        if (end[-1] >= room || std::adjacent_find(begin, end, std::greater_equal<>()) != end) return false;
    }
    return true;
}

}  // namespace maxsieve
