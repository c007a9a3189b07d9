#include "search/residual_tables.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "residual/form.hpp"

namespace maxsieve {
namespace {

constexpr int64_t kPieceOfCentroids = 64;  // their dot products with a query stay in L1

int16_t* as_words(AlignedBytes& bytes) {
    return reinterpret_cast<int16_t*>(bytes.data());
}

}  // namespace

ResidualTables::ResidualTables(const Engine& engine, const std::vector<const int8_t*>& rows, int64_t tokens_to_scan)
    : kernel_(engine.kernel), books_(engine.corpus.books()), stride_(engine.corpus.stride()) {
    const int64_t d = engine.corpus.d(), bits = engine.corpus.residual_bits();
    const auto tokens = static_cast<int64_t>(rows.size());
    lanes_ = all_lanes(tokens);
    query_ = {.tokens = tokens, .d = d, .bits = bits, .shift = residual_steps(d, bits).shift};
    std::vector<int8_t> codes(static_cast<size_t>(lanes_ * stride_));
    for (size_t t = 0; t < rows.size(); ++t) {
        std::memcpy(codes.data() + t * static_cast<size_t>(stride_), rows[t], static_cast<size_t>(stride_));
    }
    packed_.resize(kernel_.packed_bytes(lanes_, stride_));
    kernel_.pack(codes.data(), lanes_, stride_, packed_.data());
    query_.codes = packed_.data();
    std::vector<float> steps(static_cast<size_t>(lanes_), 1.0F);
    if (bits != 4) {
        sums_.resize(static_cast<size_t>(lanes_ * sign_tables(d) * 16));
        unsigned_by_.resize(static_cast<size_t>(lanes_));
        query_.sums = reinterpret_cast<const uint8_t*>(sums_.data());
        query_.unsigned_by = unsigned_by_.data();
        for (size_t t = 0; t < rows.size(); ++t) {
            auto* tables = reinterpret_cast<uint8_t*>(sums_.data()) + sign_table_at(static_cast<int64_t>(t), d);
            const SignTables made = kernel_.sign_tables(rows[t], d, tables);
            steps[t] = made.step, unsigned_by_[t] = made.unsigned_by;
        }
    }
    const ResidualSteps of_factors = residual_steps(d, bits);
    const double shifted = 1.0 / static_cast<double>(int64_t{1} << of_factors.shift);
    for (const Codebook* book : books_) {
        const double factor = static_cast<double>(book->scale) * static_cast<double>(of_factors.length) /
                              static_cast<double>(of_factors.scale) * shifted;
        std::vector<float>& factors = factors_.emplace_back();
        for (const float step : steps) factors.push_back(static_cast<float>(factor / static_cast<double>(step)));
    }
    int64_t centroids = 0;
    for (const Codebook* book : books_) centroids += book->centroids;
    if (tokens_to_scan < centroids) return;
    for (const Codebook* book : books_) {
        whole_.emplace_back().resize(static_cast<size_t>(book->centroids * lanes_) * sizeof(int16_t));
        int16_t* table = as_words(whole_.back());
        std::vector<Scratch> scratches(static_cast<size_t>(engine.crew.size()));
        engine.crew.run((book->centroids + kPieceOfCentroids - 1) / kPieceOfCentroids, [&](int64_t task, int worker) {
            const int64_t first = task * kPieceOfCentroids;
            fill(place(book), book->codes + first * stride_, std::min(kPieceOfCentroids, book->centroids - first),
                 book->centroids, first, table, scratches[static_cast<size_t>(worker)]);
        });
    }
}

size_t ResidualTables::place(const Codebook* book) const {
    return static_cast<size_t>(std::ranges::find(books_, book) - books_.begin());
}

// Rows `first` and after of a table of `table_rows`, from the codes of their centroids.
void ResidualTables::fill(size_t book, const int8_t* codes, int64_t rows, int64_t table_rows, int64_t first,
                          int16_t* table, Scratch& scratch) const {
    const float* factors = factors_[book].data();
    scratch.dots.resize(static_cast<size_t>(rows * lanes_));
    scratch.kernel.resize(scratch_bytes(stride_));
    kernel_.dots(query_.codes, lanes_, stride_, codes, rows, scratch.dots.data(), scratch.kernel.data());
    for (int64_t t = 0; t < query_.tokens; t += kStrip, table += table_rows * kStrip) {
        const int64_t lanes = strip_lanes(query_.tokens - t);
        kernel_.to_entries(scratch.dots.data() + t, lanes_, factors + t, lanes, rows, table + first * lanes);
    }
}

void ResidualTables::give_tables(const std::vector<const Codebook*>& books, std::vector<ResidualSpan>& spans,
                                 Scratch& scratch) const {
    if (!whole_.empty()) {
        for (size_t s = 0; s < spans.size(); ++s) {
            spans[s].table = reinterpret_cast<const int16_t*>(whole_[place(books[s])].data());
            spans[s].mask = static_cast<uint32_t>(books[s]->centroids - 1);
        }
        return;
    }
    // Tables of the spans' own tokens: the centroid of token j of a span is row j.
    int64_t longest = 1, all = 0;
    for (const ResidualSpan& span : spans) longest = std::max(longest, span.rows);
    std::vector<int64_t> starts;
    for (const ResidualSpan& span : spans) {
        starts.push_back(all);
        all += static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(span.rows))) * lanes_;
    }
    scratch.places.resize(static_cast<size_t>(longest));
    std::iota(scratch.places.begin(), scratch.places.end(), uint16_t{0});
    scratch.entries.resize(static_cast<size_t>(all) * sizeof(int16_t));
    const auto stride = static_cast<size_t>(stride_);
    for (size_t s = 0; s < spans.size(); ++s) {
        ResidualSpan& span = spans[s];
        const auto mask = static_cast<uint32_t>(books[s]->centroids - 1);
        int16_t* table = as_words(scratch.entries) + starts[s];
        const auto rows = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(span.rows)));
        for (int64_t j = 0; j < span.rows; j += kPieceOfCentroids) {
            const int64_t now = std::min(kPieceOfCentroids, span.rows - j);
            scratch.codes.resize(static_cast<size_t>(kPieceOfCentroids) * stride);
            for (int64_t r = 0; r < now; ++r) {
                const size_t id = span.centroids[j + r] & mask;
                std::memcpy(scratch.codes.data() + static_cast<size_t>(r) * stride, books[s]->codes + id * stride,
                            stride);
            }
            fill(place(books[s]), scratch.codes.data(), now, rows, j, table, scratch);
        }
        span.centroids = scratch.places.data();
        span.table = table;
        span.mask = static_cast<uint32_t>(rows - 1);
    }
}

}  // namespace maxsieve
