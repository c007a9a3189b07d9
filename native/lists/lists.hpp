// Lists of documents by centroid; spec/lists.py is the definition. Views: nothing here owns the arrays.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "codebook/codebook.hpp"

namespace maxsieve {

// The lists of some consecutive documents.
class ListPart {
  public:
    // A block holds so many documents that two bytes number them.
    static constexpr int64_t kMostOfBlock = 65536;

    struct Arrays {
        int64_t documents, block, centroids;
        const uint64_t* present;  // [(centroids + 63) / 64]
        const uint32_t* starts;   // [lists * blocks + 1]
        int64_t count_of_starts;
        const uint16_t* members;  // [postings]
        int64_t postings;
    };

    // Checks everything that bounds depend on, but the members: throws std::invalid_argument. A walk cuts members to
    // its memory.
    explicit ListPart(const Arrays& arrays);

    // Whether the members are what lists have: documents of their block, ascending. Reads all of them.
    bool has_sane_members() const;

    int64_t documents() const { return arrays_.documents; }
    int64_t block() const { return arrays_.block; }
    int64_t blocks() const { return blocks_; }
    int64_t centroids() const { return arrays_.centroids; }
    int64_t postings() const { return arrays_.postings; }

    // Of a list in a block, on average.
    double mean_members() const {
        return static_cast<double>(arrays_.postings) /
               static_cast<double>(std::max<int64_t>(1, arrays_.count_of_starts - 1));
    }

    // The number of a centroid's list; nothing if it has none.
    std::optional<int64_t> list_of(int64_t centroid) const;

    // Where the members of a list begin for each block; one more is where those of the last block end.
    const uint32_t* starts(int64_t list) const { return arrays_.starts + list * blocks_; }
    const uint16_t* members() const { return arrays_.members; }

  private:
    Arrays arrays_;
    int64_t blocks_;
    std::vector<uint32_t> before_;  // lists before each word of `present`
};

// Lists of some of the documents of an index, and the codebook that names the centroids.
struct Lists {
    struct Part {
        const ListPart* lists;
        int64_t first;  // the position of its first document
    };
    const Codebook* codebook;
    std::vector<Part> parts;  // ascending, none over another
};

}  // namespace maxsieve
