#include "search/residual_tables.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "compiler.hpp"
#include "residual/form.hpp"

namespace maxsieve {
namespace {

constexpr int64_t kPieceOfCentroids = 64;  // their dot products with a query stay in L1
constexpr size_t kDocumentsAhead = 4;

void read_ahead(const void* from, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += 64) MAXSIEVE_PREFETCH(static_cast<const char*>(from) + i);
}

// Whether some documents have fewer tokens than `most`.
bool are_few(const Corpus& corpus, std::span<const int64_t> positions, int64_t most) {
    int64_t tokens = 0;
    size_t hint = 0;
    for (size_t i = 0; i < positions.size() && tokens < most; ++i) tokens += corpus.at(positions[i], hint).length();
    return tokens < most;
}

}  // namespace

ResidualTables::ResidualTables(const Engine& engine, const std::vector<const int8_t*>& rows,
                               std::span<const int64_t> positions)
    : kernel_(engine.kernel), lanes_(all_lanes(static_cast<int64_t>(rows.size()))), stride_(engine.corpus.stride()) {
    const int64_t d = engine.corpus.d(), bits = engine.corpus.residual_bits();
    query_ = {
        .tokens = static_cast<int64_t>(rows.size()), .d = d, .bits = bits, .shift = residual_steps(d, bits).shift};
    std::vector<int8_t> codes(static_cast<size_t>(lanes_ * stride_));
    for (size_t t = 0; t < rows.size(); ++t) {
        std::memcpy(codes.data() + t * static_cast<size_t>(stride_), rows[t], static_cast<size_t>(stride_));
    }
    packed_.resize(kernel_.packed_bytes(lanes_, stride_));
    kernel_.pack(codes.data(), lanes_, stride_, packed_.data());
    query_.codes = packed_.data();
    std::vector<float> steps(static_cast<size_t>(lanes_), 1.0F);
    if (bits != 4) make_sums(rows, steps);
    int64_t centroids = 0;
    for (const Codebook* book : engine.corpus.books()) {
        tables_.push_back({.book = book, .size = book->centroids});
        centroids += book->centroids;
    }
    if (are_few(engine.corpus, positions, std::min(centroids, Codebook::kMostOfTier0)))
        choose_centroids(engine.corpus, positions);
    for (Table& table : tables_) fill(engine.crew, steps, table);
}

void ResidualTables::make_sums(const std::vector<const int8_t*>& rows, std::vector<float>& steps) {
    sums_.resize(static_cast<size_t>(lanes_ * sign_tables(query_.d) * 16));
    unsigned_by_.resize(static_cast<size_t>(lanes_));
    query_.sums = reinterpret_cast<const uint8_t*>(sums_.data());
    query_.unsigned_by = unsigned_by_.data();
    for (size_t t = 0; t < rows.size(); ++t) {
        auto* tables = reinterpret_cast<uint8_t*>(sums_.data()) + sign_table_at(static_cast<int64_t>(t), query_.d);
        const SignTables made = kernel_.sign_tables(rows[t], query_.d, tables);
        steps[t] = made.step, unsigned_by_[t] = made.unsigned_by;
    }
}

// The centroids of the documents' tokens, in the order in which they appear: fewer than 65,536, as the tokens are.
void ResidualTables::choose_centroids(const Corpus& corpus, std::span<const int64_t> positions) {
    for (Table& table : tables_) table.rows.resize(static_cast<size_t>(table.book->centroids));
    size_t hint = 0, hint_ahead = 0;
    for (size_t i = 0; i < positions.size(); ++i) {
        if (i + kDocumentsAhead < positions.size()) {
            const Document ahead = corpus.at(positions[i + kDocumentsAhead], hint_ahead);
            read_ahead(ahead.centroids(), ahead.length() * static_cast<int64_t>(sizeof(uint16_t)));
        }
        const Document document = corpus.at(positions[i], hint);
        Table& table = *std::ranges::find(tables_, document.book(), &Table::book);
        const size_t mask = table.rows.size() - 1;
        size_t count = table.chosen.size();
        table.chosen.resize(count + static_cast<size_t>(document.length()));
        for (int64_t j = 0; j < document.length(); ++j) {  // no branch, which nobody could predict
            const uint16_t id = document.centroids()[j] & static_cast<uint16_t>(mask);
            const uint16_t row = table.rows[id];
            table.chosen[count] = id;
            count += row == 0 ? 1 : 0;
            table.rows[id] = row == 0 ? static_cast<uint16_t>(count) : row;
        }
        table.chosen.resize(count);
    }
    for (Table& table : tables_) table.size = static_cast<int64_t>(std::bit_ceil(table.chosen.size()));
}

void ResidualTables::fill(Crew& crew, const std::vector<float>& steps, Table& table) const {
    const ResidualSteps of_factors = residual_steps(query_.d, query_.bits);
    const double factor = static_cast<double>(table.book->scale) * static_cast<double>(of_factors.length) /
                          static_cast<double>(of_factors.scale) / static_cast<double>(int64_t{1} << of_factors.shift);
    std::vector<float> factors;
    for (const float step : steps) factors.push_back(static_cast<float>(factor / static_cast<double>(step)));
    struct Scratch {
        std::vector<int8_t> codes;
        std::vector<int32_t> dots;
        AlignedBytes kernel;
    };
    std::vector<Scratch> scratches(static_cast<size_t>(crew.size()));
    table.entries.resize(static_cast<size_t>(table.size * lanes_) * sizeof(int16_t));
    auto* const entries = reinterpret_cast<int16_t*>(table.entries.data());
    const auto stride = static_cast<size_t>(stride_);
    const int64_t rows = table.rows.empty() ? table.size : static_cast<int64_t>(table.chosen.size());
    const auto row = [&](int64_t r) { return table.book->codes + table.chosen[static_cast<size_t>(r)] * stride; };
    crew.run((rows + kPieceOfCentroids - 1) / kPieceOfCentroids, [&](int64_t task, int worker) {
        Scratch& scratch = scratches[static_cast<size_t>(worker)];
        const int64_t first = task * kPieceOfCentroids, now = std::min(kPieceOfCentroids, rows - first);
        const int8_t* codes = table.book->codes + first * stride_;
        if (!table.rows.empty()) {
            scratch.codes.resize(static_cast<size_t>(kPieceOfCentroids) * stride);
            int8_t* to = scratch.codes.data();
            for (int64_t r = first; r < first + now; ++r, to += stride) {
                if (r + kPieceOfCentroids < rows) read_ahead(row(r + kPieceOfCentroids), stride_);
                std::memcpy(to, row(r), stride);
            }
            codes = scratch.codes.data();
        }
        scratch.dots.resize(static_cast<size_t>(kPieceOfCentroids * lanes_));
        scratch.kernel.resize(scratch_bytes(stride_));
        kernel_.dots(query_.codes, lanes_, stride_, codes, now, scratch.dots.data(), scratch.kernel.data());
        int16_t* strip = entries;
        for (int64_t t = 0; t < query_.tokens; t += kStrip, strip += table.size * kStrip) {
            const int64_t lanes = strip_lanes(query_.tokens - t);
            kernel_.to_entries(scratch.dots.data() + t, lanes_, factors.data() + t, lanes, now, strip + first * lanes);
        }
    });
}

const ResidualTables::Table& ResidualTables::of(const Codebook* book) const {
    return *std::ranges::find(tables_, book, &Table::book);
}

void ResidualTables::give_tables(const std::vector<const Codebook*>& books, std::vector<ResidualSpan>& spans,
                                 Scratch& scratch) const {
    int64_t tokens = 0;
    for (const ResidualSpan& span : spans) tokens += span.rows;
    scratch.resize(static_cast<size_t>(tokens));
    uint16_t* places = scratch.data();
    for (size_t s = 0; s < spans.size(); ++s) {
        const Table& table = of(books[s]);
        ResidualSpan& span = spans[s];
        span.table = reinterpret_cast<const int16_t*>(table.entries.data());
        span.mask = static_cast<uint32_t>(table.size - 1);
        if (table.rows.empty()) continue;
        const size_t mask = table.rows.size() - 1;
        for (int64_t j = 0; j < span.rows; ++j) {
            places[j] = static_cast<uint16_t>(table.rows[span.centroids[j] & mask] - 1);
        }
        span.centroids = places;
        places += span.rows;
    }
}

}  // namespace maxsieve
