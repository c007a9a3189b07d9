// The proxy scan: integer maxima max_j <y_t, c_j> of query tokens t for a list of documents. Each document is read
// once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "index/corpus.hpp"
#include "search/engine.hpp"
#include "search/query.hpp"
#include "search/residual_tables.hpp"

namespace maxsieve {

// Consecutive documents of a scan: the index of the first one in `positions`, and their maxima [documents][tokens].
struct Scanned {
    int64_t first;
    std::span<const Document> documents;
    const int32_t* maxima;
};

// The codes of some tokens of one or several queries, as a scan of these documents reads them: packed, or as tables.
class ScannedQuery {
  public:
    ScannedQuery(const Engine& engine, const std::vector<const int8_t*>& rows, std::span<const int64_t> positions);

    int64_t tokens() const { return tokens_; }
    const PackedCodes& packed() const { return *packed_; }
    const ResidualTables& tables() const { return *tables_; }

  private:
    int64_t tokens_;
    std::optional<PackedCodes> packed_;
    std::optional<ResidualTables> tables_;
};

// `consume` runs on the engine's threads, and gets each document once.
void scan(const Engine& engine, std::span<const int64_t> positions, const ScannedQuery& query,
          const std::function<void(const Scanned&)>& consume);

}  // namespace maxsieve
