// Cuts a scan of documents into tasks for threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/corpus.hpp"

namespace maxsieve {

// A task: consecutive positions, given by their indices in the list.
struct Range {
    int64_t first, last;
};

// Tasks with about the same number of tokens, and at most `most_documents` documents each. If there are enough
// documents, each thread gets at least sixteen tasks. A thread takes the next task when it is free, so the last thread
// ends late by less than a sixteenth of its work.
std::vector<Range> ranges(const Corpus& corpus, std::span<const int64_t> positions, int threads,
                          int64_t most_documents);

}  // namespace maxsieve
