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

// The sums of four numbers for each of sixteen patterns of signs, for one strip: [groups][16][lanes].
void fill_sums(const std::vector<const int8_t*>& rows, size_t first, int64_t lanes, int64_t d, int16_t* sums) {
    const int64_t groups = 2 * ((d + 7) / 8);
    for (int64_t g = 0; g < groups; ++g) {
        for (int64_t pattern = 0; pattern < 16; ++pattern) {
            for (int64_t t = 0; t < lanes; ++t, ++sums) {
                const size_t token = first + static_cast<size_t>(t);
                int sum = 0;
                for (int64_t i = 0; i < 4 && token < rows.size() && 4 * g + i < d; ++i) {
                    sum += (pattern >> i & 1) != 0 ? rows[token][4 * g + i] : -rows[token][4 * g + i];
                }
                *sums = static_cast<int16_t>(sum);
            }
        }
    }
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
    if (bits != 4) {
        const int64_t of_strip = 2 * ((d + 7) / 8) * 16 * kStrip;
        sums_.resize(static_cast<size_t>(of_strip * ((lanes_ + kStrip - 1) / kStrip)) * sizeof(int16_t));
        for (int64_t t = 0; t < tokens; t += kStrip) {
            fill_sums(rows, static_cast<size_t>(t), strip_lanes(tokens - t), d,
                      as_words(sums_) + t / kStrip * of_strip);
        }
        query_.sums = as_words(sums_);
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
            fill(*book, book->codes + first * stride_, std::min(kPieceOfCentroids, book->centroids - first),
                 book->centroids, first, table, scratches[static_cast<size_t>(worker)]);
        });
    }
}

// Rows `first` and after of a table of `table_rows`, from the codes of their centroids.
void ResidualTables::fill(const Codebook& book, const int8_t* codes, int64_t rows, int64_t table_rows, int64_t first,
                          int16_t* table, Scratch& scratch) const {
    const ResidualSteps steps = residual_steps(query_.d, query_.bits);
    const double shifted = 1.0 / static_cast<double>(int64_t{1} << steps.shift);
    const auto factor = static_cast<float>(static_cast<double>(book.scale) * static_cast<double>(steps.length) /
                                           static_cast<double>(steps.scale) * shifted);
    scratch.dots.resize(static_cast<size_t>(rows * lanes_));
    scratch.kernel.resize(scratch_bytes(stride_));
    kernel_.dots(query_.codes, lanes_, stride_, codes, rows, scratch.dots.data(), scratch.kernel.data());
    for (int64_t t = 0; t < query_.tokens; t += kStrip, table += table_rows * kStrip) {
        const int64_t lanes = strip_lanes(query_.tokens - t);
        kernel_.to_entries(scratch.dots.data() + t, lanes_, factor, lanes, rows, table + first * lanes);
    }
}

void ResidualTables::give_tables(const std::vector<const Codebook*>& books, std::vector<ResidualSpan>& spans,
                                 Scratch& scratch) const {
    if (!whole_.empty()) {
        for (size_t s = 0; s < spans.size(); ++s) {
            const auto which = static_cast<size_t>(std::ranges::find(books_, books[s]) - books_.begin());
            spans[s].table = reinterpret_cast<const int16_t*>(whole_[which].data());
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
            fill(*books[s], scratch.codes.data(), now, rows, j, table, scratch);
        }
        span.centroids = scratch.places.data();
        span.table = table;
        span.mask = static_cast<uint32_t>(rows - 1);
    }
}

}  // namespace maxsieve
