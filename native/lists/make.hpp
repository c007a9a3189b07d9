// Making the lists of some documents.
#pragma once

#include <cstdint>
#include <vector>

#include "codebook/codebook.hpp"
#include "index/corpus.hpp"
#include "kernels/kernel.hpp"
#include "lists/lists.hpp"
#include "threads/crew.hpp"
#include "threads/interrupt.hpp"

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

// The lists of the documents of some parts, one after the other: what make_lists would give, but no token is named
// again. The parts have the same centroids and blocks of the same size. Members that can't be are
// std::invalid_argument.
MadeLists merge_lists(const std::vector<const ListPart*>& parts, Interrupt& interrupt);

}  // namespace maxsieve
