// What a scan of residual bits looks up for a query: sums of its codes for the levels, and its similarities to
// centroids; `table` in spec/residual.py is the definition.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "numeric/aligned_bytes.hpp"
#include "search/engine.hpp"

namespace maxsieve {

class ResidualTables {
  public:
    // For the query codes `rows`, and a scan of these documents. If they have fewer tokens than there are centroids,
    // the tables have only the centroids of these tokens. Documents that are similar to a query share many.
    ResidualTables(const Engine& engine, const std::vector<const int8_t*>& rows, std::span<const int64_t> positions);

    // Memory that a thread reuses.
    using Scratch = std::vector<uint16_t>;

    const ResidualQuery& query() const { return query_; }

    // Gives each span the table of its centroids. Spans are parts of the documents.
    void give_tables(const std::vector<const Codebook*>& books, std::vector<ResidualSpan>& spans,
                     Scratch& scratch) const;

  private:
    struct Table {
        const Codebook* book;
        std::vector<uint16_t> rows = {};    // for each centroid: its row, counted from 1; empty if all have one
        std::vector<uint16_t> chosen = {};  // the centroid of each row, if not all have one
        int64_t size = 0;                   // rows of the table, a power of two
        AlignedBytes entries = AlignedBytes();
    };

    void make_sums(const std::vector<const int8_t*>& rows, std::vector<float>& steps);
    void choose_centroids(const Corpus& corpus, std::span<const int64_t> positions);
    void fill(Crew& crew, const std::vector<float>& steps, Table& table) const;
    const Table& of(const Codebook* book) const;

    const Kernel& kernel_;
    ResidualQuery query_{};
    int64_t lanes_, stride_;
    AlignedBytes sums_, packed_;
    std::vector<int16_t> unsigned_by_;
    std::vector<Table> tables_;  // one for each codebook
};

}  // namespace maxsieve
