// The scan and the decoding of residual bits, written once for all ISAs; spec/residual.py is the definition.
//
// 1 and 2 bits: lanes are query tokens. For each four numbers of a row there is a table of 16 rows, which has the sums
// +-y[k] +-y[k+1] +-y[k+2] +-y[k+3] of each query token as int16. So four numbers of a document token cost one load and
// one addition for a register of query tokens, and a half byte of the code, as it is stored, is the address. At d = 128
// the tables of 32 tokens take 32 KiB, and stay in L1. Tables in registers, looked up by vpshufb for 32 document tokens
// at once, have entries of one byte. Exact sums take two of them, and more instructions: in a trial they were slower.
// With 2 bits there are two planes, which use the same tables.
// 4 bits: sixteen rows at a time become bytes in L1, where `dots` multiplies them.
//
// Overflow: |y| <= 127, so that a sum of four is within 508, and of 256 numbers within 32,512: int16. Beyond 256
// numbers, sums are added to int32 in pieces. v 2^shift <= 255 * 128 and |table| < 2^15 give less than 1.07e9. u times
// a dot product is at most 255 * 127 * 15 * 2048 < 1.0e9 with 4 bits, 255 * 127 * 3 * 4096 < 0.4e9 with 2: together
// below 2^31, whatever a damaged file holds.
#pragma once

#include <cstring>

#include "compiler.hpp"
#include "kernels/kernel.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace maxsieve {
namespace {

// A register of int16 lanes, and the same lanes as int32: of each eight lanes, the first four in `low` and the others
// in `high`. `add` adds a * (low half of pair) + b * (high half of pair).
template <int Bytes>
struct WordRegister;

#if defined(__AVX512BW__)
template <>
struct WordRegister<64> {
    using Words = __m512i;
    struct Sums {
        __m512i low, high;
    };
    static Words load(const int16_t* from) { return _mm512_loadu_si512(from); }
    static Words zero() { return _mm512_setzero_si512(); }
    static Words plus(Words a, Words b) { return _mm512_add_epi16(a, b); }
    static Sums start() { return {_mm512_set1_epi32(INT32_MIN), _mm512_set1_epi32(INT32_MIN)}; }
    static Sums product(Words a, Words b, int32_t pair) {
        const __m512i factors = _mm512_set1_epi32(pair);
        return {_mm512_madd_epi16(_mm512_unpacklo_epi16(a, b), factors),
                _mm512_madd_epi16(_mm512_unpackhi_epi16(a, b), factors)};
    }
    static Sums plus(Sums a, Sums b) { return {_mm512_add_epi32(a.low, b.low), _mm512_add_epi32(a.high, b.high)}; }
    static Sums larger(Sums a, Sums b) { return {_mm512_max_epi32(a.low, b.low), _mm512_max_epi32(a.high, b.high)}; }
};
#endif

#if defined(__AVX2__)
template <>
struct WordRegister<32> {
    using Words = __m256i;
    struct Sums {
        __m256i low, high;
    };
    static Words load(const int16_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
    static Words zero() { return _mm256_setzero_si256(); }
    static Words plus(Words a, Words b) { return _mm256_add_epi16(a, b); }
    static Sums start() { return {_mm256_set1_epi32(INT32_MIN), _mm256_set1_epi32(INT32_MIN)}; }
    static Sums product(Words a, Words b, int32_t pair) {
        const __m256i factors = _mm256_set1_epi32(pair);
        return {_mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), factors),
                _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), factors)};
    }
    static Sums plus(Sums a, Sums b) { return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)}; }
    static Sums larger(Sums a, Sums b) { return {_mm256_max_epi32(a.low, b.low), _mm256_max_epi32(a.high, b.high)}; }
};
#endif

#if defined(__aarch64__)
template <>
struct WordRegister<16> {
    using Words = int16x8_t;
    struct Sums {
        int32x4_t low, high;
    };
    static Words load(const int16_t* from) { return vld1q_s16(from); }
    static Words zero() { return vdupq_n_s16(0); }
    static Words plus(Words a, Words b) { return vaddq_s16(a, b); }
    static Sums start() { return {vdupq_n_s32(INT32_MIN), vdupq_n_s32(INT32_MIN)}; }
    static Sums product(Words a, Words b, int32_t pair) {
        const auto first = static_cast<int16_t>(pair & 0xFFFF), second = static_cast<int16_t>(pair >> 16);
        return {vmlal_n_s16(vmull_n_s16(vget_low_s16(a), first), vget_low_s16(b), second),
                vmlal_n_s16(vmull_n_s16(vget_high_s16(a), first), vget_high_s16(b), second)};
    }
    static Sums plus(Sums a, Sums b) { return {vaddq_s32(a.low, b.low), vaddq_s32(a.high, b.high)}; }
    static Sums larger(Sums a, Sums b) { return {vmaxq_s32(a.low, b.low), vmaxq_s32(a.high, b.high)}; }
};
#else
template <>
struct WordRegister<16> {
    typedef int16_t Words MAXSIEVE_VECTOR(16);
    struct Sums {
        int32_t low[4], high[4];
    };
    static Words load(const int16_t* from) {
        Words words;
        std::memcpy(&words, from, sizeof words);
        return words;
    }
    static Words zero() { return Words{}; }
    static Words plus(Words a, Words b) { return a + b; }
    template <class Number>
    static Sums each(const Number& number) {
        Sums sums;
        for (int i = 0; i < 4; ++i) sums.low[i] = number(i, false), sums.high[i] = number(i, true);
        return sums;
    }
    static int32_t at(const Sums& sums, int i, bool high) { return high ? sums.high[i] : sums.low[i]; }
    static Sums start() {
        return each([](int, bool) { return INT32_MIN; });
    }
    static Sums product(Words a, Words b, int32_t pair) {
        const int32_t first = static_cast<int16_t>(pair & 0xFFFF), second = pair >> 16;
        return each([&](int i, bool high) { return a[i + 4 * high] * first + b[i + 4 * high] * second; });
    }
    static Sums plus(const Sums& a, const Sums& b) {
        return each([&](int i, bool high) { return at(a, i, high) + at(b, i, high); });
    }
    static Sums larger(const Sums& a, const Sums& b) {
        return each([&](int i, bool high) {
            const int32_t x = at(a, i, high), y = at(b, i, high);
            return x > y ? x : y;
        });
    }
};
#endif

#if defined(__AVX512BW__)
constexpr int kWordBytes = 64;
#elif defined(__AVX2__)
constexpr int kWordBytes = 32;
#else
constexpr int kWordBytes = 16;
#endif

// Numbers whose sums fit into int16, in bytes of a plane.
constexpr int64_t kPieceBytesOfPlane = 32;

// Rows of the table are read at random: they are asked for so many tokens ahead.
constexpr int64_t kAhead = 12;

template <int Lanes, int Planes>
struct BitStrip {
    static constexpr int kBytes = 2 * Lanes < kWordBytes ? 2 * Lanes : kWordBytes;
    static constexpr int kParts = 2 * Lanes / kBytes, kWords = kBytes / 2;
    static constexpr int64_t kNext = 16 * Lanes;  // from the sums of four numbers to those of the next four
    using Register = WordRegister<kBytes>;
    using Words = typename Register::Words;
    using Sums = typename Register::Sums;

    // Adds the sums for up to eight bytes of codes. Half bytes become addresses of rows of sums, in units of eight
    // bytes, eight at a time: then a byte needs one more instruction to be an address.
    template <int Bytes>
    static void add_bytes(const uint8_t* codes, const int16_t* sums, Words (&total)[2][kParts]) {
        constexpr int kShift = Lanes == 32 ? 3 : 2;
        constexpr uint64_t kHalves = 0x0F0F0F0F0F0F0F0F;
        constexpr int64_t kUnit = 8 / sizeof(int16_t);
        uint64_t word = 0;
        for (int i = 0; i < Bytes; ++i) word |= static_cast<uint64_t>(codes[i]) << (8 * i);  // one load
        const uint64_t low = (word & kHalves) << kShift, high = (word >> 4 & kHalves) << kShift;
        MAXSIEVE_UNROLL
        for (int i = 0; i < Bytes; ++i) {
            const int16_t* first = sums + 2 * i * kNext + static_cast<uint8_t>(low >> (8 * i)) * kUnit;
            const int16_t* second = sums + (2 * i + 1) * kNext + static_cast<uint8_t>(high >> (8 * i)) * kUnit;
            MAXSIEVE_UNROLL
            for (int p = 0; p < kParts; ++p) {
                total[0][p] = Register::plus(total[0][p], Register::load(first + p * kWords));
                total[1][p] = Register::plus(total[1][p], Register::load(second + p * kWords));
            }
        }
    }

    // The sums for a piece of a plane. Two chains of additions: those of one wait for each other.
    static void add_piece(const uint8_t* codes, int64_t bytes, const int16_t* sums, Words (&sum)[kParts]) {
        Words total[2][kParts];
        for (int p = 0; p < kParts; ++p) total[0][p] = total[1][p] = Register::zero();
        for (; bytes >= 8; bytes -= 8, codes += 8, sums += 16 * kNext) add_bytes<8>(codes, sums, total);
        for (; bytes > 0; --bytes, ++codes, sums += 2 * kNext) add_bytes<1>(codes, sums, total);
        for (int p = 0; p < kParts; ++p) sum[p] = Register::plus(total[0][p], total[1][p]);
    }

    static void add_product(Words total, int32_t weight, Sums& cells) {
        cells = Register::plus(cells, Register::product(total, Register::zero(), weight));
    }

    static void maxima(const ResidualQuery& query, const ResidualSpan& span, const int16_t* sums, const int16_t* table,
                       int64_t tokens, int32_t* best) {
        const int64_t plane = (query.d + 7) / 8;
        const uint8_t* levels = span.levels;
        Sums largest[kParts];
        for (int p = 0; p < kParts; ++p) largest[p] = Register::start();
        for (int64_t j = 0; j < span.rows; ++j, levels += Planes * plane) {
            if (j + kAhead < span.rows) MAXSIEVE_PREFETCH(table + (span.centroids[j + kAhead] & span.mask) * Lanes);
            const int16_t* entries = table + static_cast<int64_t>(span.centroids[j] & span.mask) * Lanes;
            const int32_t v = span.factors[2 * j] << query.shift, u = span.factors[2 * j + 1];
            Words total[kParts];
            Sums cells[kParts];
            const int64_t all = plane < kPieceBytesOfPlane ? plane : kPieceBytesOfPlane;
            add_piece(levels, all, sums, total);
            const int32_t factors = v | u << (Planes - 1) << 16;
            for (int p = 0; p < kParts; ++p) {
                cells[p] = Register::product(Register::load(entries + p * kWords), total[p], factors);
            }
            if constexpr (Planes == 2) {
                add_piece(levels + plane, all, sums, total);
                for (int p = 0; p < kParts; ++p) add_product(total[p], u, cells[p]);
            }
            for (int64_t first = all; first < plane; first += kPieceBytesOfPlane) {
                const int64_t bytes = plane - first < kPieceBytesOfPlane ? plane - first : kPieceBytesOfPlane;
                for (int b = 0; b < Planes; ++b) {
                    add_piece(levels + b * plane + first, bytes, sums + 2 * first * kNext, total);
                    for (int p = 0; p < kParts; ++p) add_product(total[p], u << (Planes - 1 - b), cells[p]);
                }
            }
            for (int p = 0; p < kParts; ++p) largest[p] = Register::larger(largest[p], cells[p]);
        }
        int32_t lanes[Lanes];
        for (int p = 0; p < kParts; ++p) {
            int32_t halves[2][kWords / 2];
            std::memcpy(halves[0], &largest[p].low, sizeof halves[0]);
            std::memcpy(halves[1], &largest[p].high, sizeof halves[1]);
            for (int i = 0; i < kWords; ++i) lanes[p * kWords + i] = halves[i / 4 % 2][i / 8 * 4 + i % 4];
        }
        for (int64_t t = 0; t < tokens && t < Lanes; ++t) best[t] = lanes[t] > best[t] ? lanes[t] : best[t];
    }
};

template <int Planes>
inline void bit_maxima(const ResidualQuery& query, const ResidualSpan* spans, int64_t count, int32_t* best) {
    const int64_t groups = 2 * ((query.d + 7) / 8);
    for (int64_t s = 0; s < count; ++s, best += query.tokens) {
        const int16_t *sums = query.sums, *table = spans[s].table;
        for (int64_t t = 0; t < query.tokens; t += kStrip) {
            const int64_t left = query.tokens - t;
            (strip_lanes(left) == kStrip ? BitStrip<kStrip, Planes>::maxima : BitStrip<kStrip / 2, Planes>::maxima)(
                query, spans[s], sums, table, left, best + t);
            sums += groups * 16 * kStrip;
            table += (static_cast<int64_t>(spans[s].mask) + 1) * kStrip;
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
            for (int64_t r = 0; r < now; ++r) {
                const auto id = static_cast<int64_t>(span.centroids[j + r] & span.mask);
                const int32_t v = span.factors[2 * (j + r)] << query.shift, u = span.factors[2 * (j + r) + 1];
                const int32_t* dot = found + r * lanes;
                for (int64_t t = 0; t < query.tokens; t += kStrip) {
                    const int64_t left = query.tokens - t, real = left < kStrip ? left : kStrip;
                    const int16_t* entry =
                        span.table + t * (static_cast<int64_t>(span.mask) + 1) + id * strip_lanes(left);
                    for (int64_t i = 0; i < real; ++i) {
                        const int32_t cell = v * entry[i] + u * dot[t + i];
                        best[t + i] = cell > best[t + i] ? cell : best[t + i];
                    }
                }
            }
        }
    }
}

template <Dots dots>
void generic_residual_maxima(const ResidualQuery& query, const ResidualSpan* spans, int64_t count, int32_t* best,
                             int8_t* scratch) {
    if (query.bits == 1) {
        bit_maxima<1>(query, spans, count, best);
    } else if (query.bits == 2) {
        bit_maxima<2>(query, spans, count, best);
    } else {
        half_byte_maxima<dots>(query, spans, count, best, scratch);
    }
}

inline void generic_to_entries(const int32_t* dots, int64_t apart, float factor, int64_t lanes, int64_t rows,
                               int16_t* __restrict table) {
    for (int64_t c = 0; c < rows; ++c, dots += apart, table += lanes) {
        for (int64_t t = 0; t < lanes; ++t) {
            table[t] = static_cast<int16_t>(static_cast<int32_t>(static_cast<float>(dots[t]) * factor));
        }
    }
}

inline void levels_of(const uint8_t* codes, int64_t d, int64_t bits, int8_t* __restrict levels) {
    if (bits == 4) {
        for (int64_t k = 0; k < d; ++k) levels[k] = static_cast<int8_t>(2 * (codes[k / 2] >> (k % 2 * 4) & 15) - 15);
        return;
    }
    const int64_t plane = (d + 7) / 8;
    for (int64_t k = 0; k < d; ++k) {
        int level = codes[k / 8] >> (k % 8) & 1;
        if (bits == 2) level = 2 * level + (codes[plane + k / 8] >> (k % 8) & 1);
        levels[k] = static_cast<int8_t>(bits == 1 ? 2 * level - 1 : 2 * level - 3);
    }
}

inline void generic_decode_residual(const ResidualView& view, const ResidualSpan& span, float scale,
                                    float* __restrict rows) {
    int8_t levels[kMaxStride];
    const int64_t bytes = level_bytes(view.d, view.bits), stride = code_stride(view.d);
    for (int64_t j = 0; j < span.rows; ++j, rows += view.d) {
        levels_of(span.levels + j * bytes, view.d, view.bits, levels);
        const int8_t* centroid = view.centroid_codes + static_cast<int64_t>(span.centroids[j] & view.mask) * stride;
        const auto v = static_cast<float>(span.factors[2 * j]), u = static_cast<float>(span.factors[2 * j + 1]);
        const float on_centroid = (scale * (view.steps.length * v)) * view.centroid_scale;
        const float on_levels = scale * (view.steps.scale * u);
        for (int64_t k = 0; k < view.d; ++k) {
            rows[k] = on_centroid * static_cast<float>(centroid[k]) + on_levels * static_cast<float>(levels[k]);
        }
    }
}

}  // namespace
}  // namespace maxsieve
