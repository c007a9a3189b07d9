// How a scan of documents is cut into tasks for threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/corpus.hpp"

namespace maxsieve {

// A task: some consecutive positions, by their places in the list.
struct Range {
    int64_t first, last;
};

// Tasks of about the same number of tokens, at least sixteen for each thread where there are so many documents: threads
// take them as they come, and the last to finish is late by a fraction of a sixteenth of its work. None has more than
// `most_documents`.
std::vector<Range> ranges(const Corpus& corpus, std::span<const int64_t> positions, int threads,
                          int64_t most_documents);

}  // namespace maxsieve
