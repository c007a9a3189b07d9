// Making the lists of some documents.
#pragma once

#include <cstdint>
#include <vector>

#include "codebook/codebook.hpp"
#include "index/corpus.hpp"
#include "kernels/kernel.hpp"
#include "threads/crew.hpp"

namespace maxsieve {

// The arrays of a ListPart.
struct MadeLists {
    std::vector<uint64_t> present;
    std::vector<uint32_t> starts;
    std::vector<uint16_t> members;
};

// The lists of the documents of some segments, one after the other, in blocks of `block`. Each token is named by the
// nearest centroid in `probes` groups of the codebook.
MadeLists make_lists(const Codebook& book, const std::vector<Segment>& segments, int64_t block, int64_t probes,
                     const Kernel& kernel, Crew& crew);

}  // namespace maxsieve
