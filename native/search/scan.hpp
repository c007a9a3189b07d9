// The proxy scan: integer maxima max_j <y_t, c_j> of some query tokens for a list of documents, streamed once.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "index/corpus.hpp"
#include "kernels/kernel.hpp"
#include "search/query.hpp"
#include "threads/crew.hpp"
#include "threads/interrupt.hpp"

namespace maxsieve {

// Some consecutive documents of a scan: the first one's index in `positions`, and their maxima [documents][tokens].
struct Scanned {
    int64_t first;
    std::span<const Document> documents;
    const int32_t* maxima;
};

// `consume` runs on the crew's threads and gets each document once.
void scan(const Corpus& corpus, std::span<const int64_t> positions, const Kernel& kernel, const PackedCodes& query,
          Crew& crew, Interrupt& interrupt, const std::function<void(const Scanned&)>& consume);

}  // namespace maxsieve
