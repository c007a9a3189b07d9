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

// `consume` gets the document's index in `positions`, the document and its maxima, one for each packed token. It runs
// on the crew's threads, for each document once.
void scan(const Corpus& corpus, std::span<const int64_t> positions, const Kernel& kernel, const PackedCodes& query,
          Crew& crew, Interrupt& interrupt,
          const std::function<void(int64_t index, const Document& document, const int32_t* maxima)>& consume);

}  // namespace maxsieve
