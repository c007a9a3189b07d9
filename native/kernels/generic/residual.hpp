// The scan and the decoding of residual bits, written once for all ISAs; spec/residual.py is the definition.
//
// 1 and 2 bits: blocks of document tokens, from one document or several. sign_sums.hpp has the sums for their levels,
// as rows of query tokens. Then lanes are query tokens: the row of a token's centroid in the table and the row of its
// sums give the token's cells. With 2 bits there are two planes, which use the same tables. 4 bits: sixteen rows at a
// time become bytes in L1, where `dots` multiplies them.
//
// Overflow: v 2^shift <= 255 * 128 and |table| < 2^15 give less than 1.07e9. u times the sums is at most 255 * 32,512 *
// 3 < 0.03e9 with 1 or 2 bits; u times a dot product is at most 255 * 127 * 15 * 2048 < 1.0e9 with 4 bits: together
// below 2^31, whatever a damaged file holds.
#pragma once

#include <cstring>

#include "compiler.hpp"
#include "kernels/generic/sign_sums.hpp"
#include "kernels/generic/word_registers.hpp"
#include "kernels/kernel.hpp"

namespace maxsieve {
namespace {

// `SignSums` may read so many bytes beyond a plane, unless planes have whole 16 bytes. Then the last rows of a span are
// copied first.
constexpr int64_t kBeyond = 16;

// A block of consecutive tokens of the spans.
template <int64_t Rows>
class ResidualBlock {
  public:
    static constexpr int64_t kRows = Rows;

    // A row has so many bytes, and is read so far beyond them. `copies` has room for kRows rows, with that.
    ResidualBlock(const ResidualSpan* spans, int64_t count, int64_t bytes, int64_t beyond, uint8_t* copies)
        : spans_(spans), count_(count), bytes_(bytes), beyond_(beyond), copies_(copies) {}

    // Takes the next tokens. Returns false if there are none.
    bool next() {
        first_span_ = span_, first_row_ = row_, rows = 0;
        const int64_t bytes = bytes_, last = (beyond_ + bytes - 1) / bytes;  // so many are copied
        while (span_ < count_ && rows < kRows) {
            const ResidualSpan& span = spans_[span_];
            const int64_t left = span.rows - row_, now = left < kRows - rows ? left : kRows - rows;
            const uint8_t* row = span.levels + row_ * bytes;
            for (int64_t j = 0; j < now; ++j) levels[rows + j] = row + j * bytes;
            for (int64_t j = left > last ? left - last : 0; j < now; ++j) {
                uint8_t* copy = copies_ + (rows + j) * (bytes + beyond_);
                std::memcpy(copy, levels[rows + j], static_cast<size_t>(bytes));
                levels[rows + j] = copy;
            }
            rows += now, row_ += now;
            if (row_ == span.rows) ++span_, row_ = 0;
        }
        for (int64_t j = rows; rows > 0 && j < kRows; ++j) levels[j] = levels[rows - 1];
        read_ahead();
        return rows > 0;
    }

    // Calls use(span, row, rows, at) for tokens `first` to `last` - 1 of the block, span by span: `row` and after are
    // token `at` and after. Tokens after the block are those of later blocks.
    template <class Use>
    void for_each_span(int64_t first, int64_t last, const Use& use) const {
        int64_t at = -first_row_;  // the span's first row
        for (int64_t s = first_span_; s < count_ && at < last; at += spans_[s++].rows) {
            const int64_t begin = at > first ? at : first,
                          end = at + spans_[s].rows < last ? at + spans_[s].rows : last;
            if (begin < end) use(s, begin - at, end - begin, begin);
        }
    }

    int64_t rows = 0;
    const uint8_t* levels[kRows];

  private:
    // What is read some blocks later: documents may be anywhere in memory.
    void read_ahead() const {
        constexpr int64_t kBytesAhead = 64;  // the latency of memory, at several bytes a nanosecond
        const int64_t lead = kBytesAhead / bytes_ > kRows ? kBytesAhead / bytes_ : kRows;
        for_each_span(lead, lead + kRows, [&](int64_t s, int64_t row, int64_t rows, int64_t) {
            const ResidualSpan& span = spans_[s];
            for (int64_t i = 0; i < rows * bytes_; i += 64) MAXSIEVE_PREFETCH(span.levels + row * bytes_ + i);
            for (int64_t i = 0; i < rows; i += 32) {
                MAXSIEVE_PREFETCH(span.factors + 2 * (row + i));
                MAXSIEVE_PREFETCH(span.centroids + row + i);
            }
        });
    }

    const ResidualSpan* spans_;
    int64_t count_, bytes_, beyond_, span_ = 0, row_ = 0, first_span_ = 0, first_row_ = 0;
    uint8_t* copies_;
};

// A block against a strip of query tokens.
template <class Signs, int Lanes, int Planes>
class Strip {
    static constexpr int64_t kRows = Signs::kBlock;
    static constexpr int kBytes = 2 * Lanes < kWordBytes ? 2 * Lanes : kWordBytes;
    static constexpr int kParts = 2 * Lanes / kBytes, kWords = kBytes / 2;
    using Register = WordRegister<kBytes>;
    using Sums = typename Register::Sums;

  public:
    // best[s * query.tokens + t] = max(..., cell) for query tokens `first` and after, over the block's tokens of each
    // span s. `sums` has room for kRows rows of Lanes numbers for each plane.
    static void update(const ResidualQuery& query, const ResidualSpan* spans, const ResidualBlock<kRows>& block,
                       int64_t first, Signs& signs, int16_t* sums, int32_t* best) {
        const int64_t left = query.tokens - first, tokens = left < Lanes ? left : Lanes, plane = (query.d + 7) / 8;
        // Rows of the table are read at random: they are asked for while the first half of the sums is made.
        const int64_t steps = (tokens + 7) / 8, a_step = (block.rows + steps - 1) / steps;
        int64_t asked = 0;
        const auto read_ahead = [&] {
            const int64_t end = asked + a_step < block.rows ? asked + a_step : block.rows;
            block.for_each_span(asked, end, [&](int64_t s, int64_t row, int64_t rows, int64_t) {
                for (int64_t j = row; j < row + rows; ++j) MAXSIEVE_PREFETCH(entries(spans[s], first, j));
            });
            asked = end;
        };
        for (int p = 0; p < Planes; ++p) {
            if (Planes > 1 || first == 0) signs.take(block.levels, p * plane);
            signs.template sum<Lanes>(first, tokens, read_ahead, sums + p * kRows * Lanes);
        }
        block.for_each_span(0, block.rows, [&](int64_t s, int64_t row, int64_t rows, int64_t at) {
            int32_t largest[Lanes];
            find_largest(spans[s], first, row, rows, query.shift, sums + at * Lanes, largest);
            int32_t* so_far = best + s * query.tokens + first;
            for (int64_t t = 0; t < tokens; ++t) so_far[t] = largest[t] > so_far[t] ? largest[t] : so_far[t];
        });
    }

  private:
    // The row of a token's centroid in the table.
    static const int16_t* entries(const ResidualSpan& span, int64_t first, int64_t row) {
        const int16_t* table = span.table + (static_cast<int64_t>(span.mask) + 1) * first;
        return table + static_cast<int64_t>(span.centroids[row] & span.mask) * Lanes;
    }

    // The largest cells of consecutive tokens.
    static void find_largest(const ResidualSpan& span, int64_t first, int64_t row, int64_t rows, int shift,
                             const int16_t* sums, int32_t* found) {
        int32_t factors[kRows];  // of all rows first, many at a time
        for (int64_t j = 0; j < rows; ++j) {
            const int32_t v = span.factors[2 * (row + j)], u = span.factors[2 * (row + j) + 1];
            factors[j] = v << shift | u << (Planes - 1) << 16;
        }
        Sums largest[kParts];
        for (int p = 0; p < kParts; ++p) largest[p] = Register::start();
        for (int64_t j = 0; j < rows; ++j, sums += Lanes) {
            const int16_t* near = entries(span, first, row + j);
            MAXSIEVE_UNROLL
            for (int p = 0; p < kParts; ++p) {
                Sums cells =
                    Register::product(Register::load(near + p * kWords), Register::load(sums + p * kWords), factors[j]);
                if constexpr (Planes == 2) {
                    const auto low = Register::load(sums + kRows * Lanes + p * kWords);
                    cells = Register::plus(cells, Register::product(low, Register::zero(), factors[j] >> 17));
                }
                largest[p] = Register::larger(largest[p], cells);
            }
        }
        for (int p = 0; p < kParts; ++p) Register::store(found + p * kWords, largest[p]);
    }
};

template <class Signs, int Planes>
inline void bit_maxima(const ResidualQuery& query, const ResidualSpan* spans, int64_t count, int32_t* best,
                       int8_t* scratch) {
    constexpr int64_t kRows = Signs::kBlock;
    const int64_t plane = (query.d + 7) / 8, bytes = Planes * plane;
    auto* sums = reinterpret_cast<int16_t*>(scratch);
    auto* copies = reinterpret_cast<uint8_t*>(sums + Planes * kRows * kStrip);
    int8_t* rest = scratch + 2 * Planes * kRows * kStrip + (kRows * (bytes + kBeyond) + 63) / 64 * 64;
    Signs signs(query, rest);
    ResidualBlock<kRows> block(spans, count, bytes, plane % 16 == 0 ? 0 : kBeyond, copies);
    while (block.next()) {
        for (int64_t t = 0; t < query.tokens; t += kStrip) {
            const bool whole = strip_lanes(query.tokens - t) == kStrip;
            (whole ? Strip<Signs, kStrip, Planes>::update : Strip<Signs, kStrip / 2, Planes>::update)(
                query, spans, block, t, signs, sums, best);
        }
    }
}

// Levels of 4 bits as bytes: odd numbers from -15 to 15. After the last number there are any, and the query is zero.
inline void widen_halves(const uint8_t* levels, int64_t bytes, int64_t stride, int8_t* __restrict row) {
    for (int64_t i = 0; i < bytes; ++i) {
        row[2 * i] = static_cast<int8_t>(2 * (levels[i] & 15) - 15);
        row[2 * i + 1] = static_cast<int8_t>(2 * (levels[i] >> 4) - 15);
    }
    for (int64_t k = 2 * bytes; k < stride; ++k) row[k] = 0;
}

using Dots = void (*)(const int8_t* packed, int64_t tokens, int64_t stride, const int8_t* rows, int64_t count,
                      int32_t* out, int8_t* scratch);

// best[t] = max(best[t], cell) for `tokens` query tokens, over `rows` document tokens, which begin at `first`. `table`
// is that of the strip, and `dots` are `apart` numbers apart.
template <int Lanes>
inline void update_from_dots(const ResidualSpan& span, int64_t first, int64_t rows, int shift, const int16_t* table,
                             const int32_t* dots, int64_t apart, int64_t tokens, int32_t* best) {
    typedef int16_t Entries MAXSIEVE_VECTOR(kWordBytes / 2);
    typedef int32_t Cells MAXSIEVE_VECTOR(kWordBytes);
    constexpr int kNumbers = kWordBytes / 4, kParts = Lanes / kNumbers;
    Cells largest[kParts];
    for (Cells& part : largest) part = Cells{} + INT32_MIN;
    for (int64_t j = first; j < first + rows; ++j, dots += apart) {
        const int16_t* near = table + static_cast<int64_t>(span.centroids[j] & span.mask) * Lanes;
        const int32_t v = span.factors[2 * j] << shift, u = span.factors[2 * j + 1];
        MAXSIEVE_UNROLL
        for (int p = 0; p < kParts; ++p) {
            Entries entries;
            Cells along;
            std::memcpy(&entries, near + kNumbers * p, sizeof entries);
            std::memcpy(&along, dots + kNumbers * p, sizeof along);
            const Cells cells = MAXSIEVE_CONVERT(entries, Cells) * v + along * u;
            largest[p] = cells > largest[p] ? cells : largest[p];
        }
    }
    int32_t found[Lanes];
    std::memcpy(found, largest, sizeof found);
    for (int64_t t = 0; t < tokens; ++t) best[t] = found[t] > best[t] ? found[t] : best[t];
}

template <Dots dots>
void half_byte_maxima(const ResidualQuery& query, const ResidualSpan* spans, int64_t count, int32_t* best,
                      int8_t* scratch) {
    constexpr int64_t kTogether = 16;
    const int64_t stride = code_stride(query.d), bytes = (query.d + 1) / 2, lanes = all_lanes(query.tokens);
    int8_t* rows = scratch;
    auto* found = reinterpret_cast<int32_t*>(scratch + kTogether * stride);
    int8_t* rest = reinterpret_cast<int8_t*>(found + kTogether * lanes);
    for (int64_t s = 0; s < count; ++s, best += query.tokens) {
        const ResidualSpan& span = spans[s];
        for (int64_t j = 0; j < span.rows; j += kTogether) {
            const int64_t now = span.rows - j < kTogether ? span.rows - j : kTogether;
            for (int64_t r = 0; r < now; ++r) {
                if (j + kTogether + r < span.rows) {
                    MAXSIEVE_PREFETCH(span.table + (span.centroids[j + kTogether + r] & span.mask) * kStrip);
                }
                widen_halves(span.levels + (j + r) * bytes, bytes, stride, rows + r * stride);
            }
            dots(query.codes, lanes, stride, rows, now, found, rest);
            for (int64_t t = 0; t < query.tokens; t += kStrip) {
                const int64_t left = query.tokens - t, real = left < kStrip ? left : kStrip;
                const bool whole = strip_lanes(left) == kStrip;
                (whole ? update_from_dots<kStrip>
                       : update_from_dots<kStrip / 2>)(span, j, now, query.shift,
                                                       span.table + t * (static_cast<int64_t>(span.mask) + 1),
                                                       found + t, lanes, real, best + t);
            }
        }
    }
}

template <Dots dots, class Signs = SignSums>
void generic_residual_maxima(const ResidualQuery& query, const ResidualSpan* spans, int64_t count, int32_t* best,
                             int8_t* scratch) {
    if (query.bits == 1) {
        bit_maxima<Signs, 1>(query, spans, count, best, scratch);
    } else if (query.bits == 2) {
        bit_maxima<Signs, 2>(query, spans, count, best, scratch);
    } else {
        half_byte_maxima<dots>(query, spans, count, best, scratch);
    }
}

// Adding and subtracting 1.5 * 2^23 rounds to the nearest integer, ties to even.
inline void generic_to_entries(const int32_t* dots, int64_t apart, const float* factors, int64_t lanes, int64_t rows,
                               int16_t* __restrict table) {
    constexpr float kRounds = 0x1.8p23F;
    for (int64_t c = 0; c < rows; ++c, dots += apart, table += lanes) {
        for (int64_t t = 0; t < lanes; ++t) {
            const float entry = static_cast<float>(dots[t]) * factors[t];
            table[t] = static_cast<int16_t>(static_cast<int32_t>((entry + kRounds) - kRounds));
        }
    }
}

// The signs of eight numbers as bytes, 1 or -1: number i has bit i of `bits`.
inline uint64_t eight_signs(uint64_t bits) {
    const uint64_t apart = bits * 0x0101010101010101U & 0x8040201008040201U;
    const uint64_t positive = (apart + 0x7F7F7F7F7F7F7F7FU) & 0x8080808080808080U;
    return ~((positive - (positive >> 7)) << 1);
}

inline void signs_of(const uint8_t* plane, int64_t bytes, int8_t* __restrict signs) {
    for (int64_t i = 0; i < bytes; ++i) {
        const uint64_t eight = eight_signs(plane[i]);
        std::memcpy(signs + 8 * i, &eight, sizeof eight);
    }
}

// Levels of a row, and perhaps some after its last number.
inline void levels_of(const uint8_t* codes, int64_t d, int64_t bits, int8_t* __restrict levels) {
    if (bits == 4) return widen_halves(codes, (d + 1) / 2, d, levels);
    const int64_t plane = (d + 7) / 8;
    signs_of(codes, plane, levels);
    if (bits == 1) return;
    int8_t low[kMaxStride];
    signs_of(codes + plane, plane, low);
    for (int64_t k = 0; k < d; ++k) levels[k] = static_cast<int8_t>(2 * levels[k] + low[k]);
}

inline void generic_decode_residual(const ResidualView& view, const ResidualSpan& span, float scale,
                                    float* __restrict rows) {
    const int64_t bytes = level_bytes(view.d, view.bits), stride = code_stride(view.d);
    const auto centroid_of = [&](int64_t j) {
        return view.centroid_codes + static_cast<int64_t>(span.centroids[j] & view.mask) * stride;
    };
    // The levels of some rows first: a vector that is read just after its parts were written has to wait.
    int8_t levels[kMaxStride];
    const int64_t together = kMaxStride / stride;
    for (int64_t first = 0; first < span.rows; first += together) {
        const int64_t last = first + together < span.rows ? first + together : span.rows;
        for (int64_t j = first; j < last; ++j) {
            for (int64_t k = 0; k < stride; k += 64) MAXSIEVE_PREFETCH(centroid_of(j) + k);
            levels_of(span.levels + j * bytes, view.d, view.bits, levels + (j - first) * stride);
        }
        for (int64_t j = first; j < last; ++j, rows += view.d) {
            const int8_t *centroid = centroid_of(j), *level = levels + (j - first) * stride;
            const auto v = static_cast<float>(span.factors[2 * j]), u = static_cast<float>(span.factors[2 * j + 1]);
            const float on_centroid = (scale * (view.steps.length * v)) * view.centroid_scale;
            const float on_levels = scale * (view.steps.scale * u);
            for (int64_t k = 0; k < view.d; ++k) {
                rows[k] = on_centroid * static_cast<float>(centroid[k]) + on_levels * static_cast<float>(level[k]);
            }
        }
    }
}

}  // namespace
}  // namespace maxsieve
