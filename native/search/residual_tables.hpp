// What a scan of residual bits looks up for a query: sums of its codes for the levels, and its similarities to
// centroids; `table` in spec/residual.py is the definition.
#pragma once

#include <cstdint>
#include <vector>

#include "numeric/aligned_bytes.hpp"
#include "search/engine.hpp"

namespace maxsieve {

class ResidualTables {
  public:
    // For the query codes `rows`, and a scan of about so many tokens. If these are fewer than the centroids, there are
    // no tables of all centroids: each piece of the scan makes the entries of its own tokens.
    ResidualTables(const Engine& engine, const std::vector<const int8_t*>& rows, int64_t tokens_to_scan);

    // Memory that a thread reuses.
    struct Scratch {
        std::vector<uint16_t> places;
        std::vector<int8_t> codes;
        std::vector<int32_t> dots;
        AlignedBytes entries, kernel;
    };

    const ResidualQuery& query() const { return query_; }

    // Gives each span the table of its centroids; the documents are those of the spans.
    void give_tables(const std::vector<const Codebook*>& books, std::vector<ResidualSpan>& spans,
                     Scratch& scratch) const;

  private:
    size_t place(const Codebook* book) const;
    void fill(size_t book, const int8_t* codes, int64_t rows, int64_t table_rows, int64_t first, int16_t* table,
              Scratch& scratch) const;

    const Kernel& kernel_;
    const std::vector<const Codebook*>& books_;
    ResidualQuery query_{};
    int64_t lanes_, stride_;
    AlignedBytes sums_, packed_;
    std::vector<int16_t> unsigned_by_;
    std::vector<std::vector<float>> factors_;  // for each codebook: what its dot products are multiplied by
    std::vector<AlignedBytes> whole_;          // for each codebook, or empty
};

}  // namespace maxsieve
