// Documents whose bytes may still be on disk, in a mapped file.
#pragma once

#include <cstdint>
#include <span>

#include "index/corpus.hpp"

namespace maxsieve {

// Asks the system to read what a scan of these documents (ascending positions) needs, all at once. Otherwise the scan
// waits at each page that is not in memory, for one after the other. If some of the documents are looked at and all of
// these are in memory, it asks for nothing: a question for each document would take longer than its scan.
void read_ahead(const Corpus& corpus, std::span<const int64_t> positions);

}  // namespace maxsieve
