// The proxy scan: integer maxima max_j <y_t, c_j> of query tokens t for a list of documents. Each document is read
// once.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "index/corpus.hpp"
#include "search/engine.hpp"
#include "search/query.hpp"

namespace maxsieve {

// Consecutive documents of a scan: the index of the first one in `positions`, and their maxima [documents][tokens].
struct Scanned {
    int64_t first;
    std::span<const Document> documents;
    const int32_t* maxima;
};

// `consume` runs on the engine's threads, and gets each document once.
void scan(const Engine& engine, std::span<const int64_t> positions, const PackedCodes& query,
          const std::function<void(const Scanned&)>& consume);

}  // namespace maxsieve
