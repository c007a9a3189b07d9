// The sums of sign_sums.hpp with AVX-512 VBMI, where one instruction looks up 64 bytes in 64: here in the tables of 16
// numbers of a query token, four tables side by side. A place has the half byte of a document token in its lower bits,
// and the number of the table above it. The four places of a document token are next to each other, so that vpdpbusd
// (with factors of 1) adds what was found to the token's int32: two instructions for 16 numbers of 16 document tokens.
//
// Only functions that are marked may be compiled for VBMI: older CPUs run the rest of a file that includes this.
#pragma once

#include <immintrin.h>

#include "compiler.hpp"
#include "kernels/generic/sign_sums.hpp"
#include "kernels/kernel.hpp"

namespace maxsieve {
namespace {

#if defined(__AVX512BW__)

class PermutedSignSums {
    static constexpr int kVectors = 4, kTokens = 16, kTogether = 4;  // document tokens of a vector; query tokens
    static constexpr int64_t kVectorBytes = 64;

  public:
    static constexpr int64_t kBlock = kVectors * kTokens;  // document tokens

    PermutedSignSums(const ResidualQuery& query, int8_t* scratch)
        : query_(query),
          steps_(sign_tables(query.d) / 4),
          pairs_(scratch),
          places_(scratch + kStrip / 2 * kVectors * kVectorBytes) {}

    // Takes a plane of the codes: bytes `at` and after of kBlock rows. 16 bytes of each may be read beyond its end.
    [[gnu::target("avx512vbmi")]] void take(const uint8_t* const* rows, int64_t at) {
        // Two bytes of a row are four places. Bits 0, 4, 8 and 12 are where those of the first two bytes begin.
        const __m512i first_two = _mm512_set1_epi64(0x2C2824200C080400),
                      last_two = _mm512_set1_epi64(0x3C3834301C181410);
        const int64_t plane = (query_.d + 7) / 8;
        for (int v = 0; v < kVectors; ++v, rows += kTokens) {
            int8_t* to = places_ + v * kVectorBytes;
            for (int64_t i = 0; i < plane; i += 16) {
                __m512i four[4];
                MAXSIEVE_UNROLL
                for (int q = 0; q < 4; ++q) four[q] = gather(rows + q, at + i);
                transpose_quarters(four);  // four[q]: bytes 4 q to 4 q + 3 of all rows
                MAXSIEVE_UNROLL
                for (int q = 0; q < 4; ++q, to += 2 * kVectors * kVectorBytes) {
                    store(to, to_places(_mm512_multishift_epi64_epi8(first_two, four[q])));
                    store(to + kVectors * kVectorBytes, to_places(_mm512_multishift_epi64_epi8(last_two, four[q])));
                }
            }
        }
    }

    // As in sign_sums.hpp. What is after the last query token has any value.
    template <int Lanes, class Meanwhile>
    void sum(int64_t first, int64_t tokens, const Meanwhile& meanwhile, int16_t* rows) {
        for (int64_t t = 0; t < tokens; t += kTogether) {
            meanwhile();
            look_up(first + t, pairs_ + t / 2 * kVectors * kVectorBytes);
        }
        for (int v = 0; v < kVectors; ++v) to_rows<Lanes>(pairs_ + v * kVectorBytes, rows + v * kTokens * Lanes);
    }

  private:
    // The sums of four query tokens for all document tokens, two of them in each int32.
    [[gnu::noinline, gnu::target("avx512vbmi")]] void look_up(int64_t t, int8_t* pairs) const {
        const int64_t apart = steps_ * kVectorBytes;
        const uint8_t* tables = query_.sums + t * apart;
        const int8_t* places = places_;
        const __m512i ones = _mm512_set1_epi8(1);
        __m512i sums[kTogether][kVectors];
        MAXSIEVE_UNROLL
        for (int i = 0; i < kTogether; ++i) {
            MAXSIEVE_UNROLL
            for (int v = 0; v < kVectors; ++v) sums[i][v] = _mm512_set1_epi32(-query_.unsigned_by[t + i]);
        }
        for (int64_t s = 0; s < steps_; ++s, tables += kVectorBytes, places += kVectors * kVectorBytes) {
            __m512i table[kTogether];
            MAXSIEVE_UNROLL
            for (int i = 0; i < kTogether; ++i) table[i] = _mm512_loadu_si512(tables + i * apart);
            MAXSIEVE_UNROLL
            for (int v = 0; v < kVectors; ++v) {
                const __m512i place = _mm512_loadu_si512(places + v * kVectorBytes);
                MAXSIEVE_UNROLL
                for (int i = 0; i < kTogether; ++i) {
                    sums[i][v] = _mm512_dpbusd_epi32(sums[i][v], _mm512_permutexvar_epi8(place, table[i]), ones);
                    MAXSIEVE_IN_REGISTER(sums[i][v]);
                }
            }
        }
        MAXSIEVE_UNROLL
        for (int i = 0; i < kTogether; i += 2, pairs += kVectors * kVectorBytes) {
            MAXSIEVE_UNROLL
            for (int v = 0; v < kVectors; ++v) {
                store(pairs + v * kVectorBytes,
                      _mm512_mask_blend_epi16(0xAAAAAAAA, sums[i][v], _mm512_slli_epi32(sums[i + 1][v], 16)));
            }
        }
    }

    // The pairs of 16 document tokens to rows of query tokens.
    template <int Lanes>
    static void to_rows(const int8_t* pairs, int16_t* rows) {
        __m512i found[16];
        MAXSIEVE_UNROLL
        for (int p = 0; p < 16; ++p) found[p] = _mm512_loadu_si512(pairs + p * kVectors * kVectorBytes);
        MAXSIEVE_UNROLL
        for (int p = 0; p < 16; p += 4) transpose_quarters(found + p);
        MAXSIEVE_UNROLL
        for (int e = 0; e < 4; ++e) {  // quarter q of found[4 p + e]: pairs 4 p to 4 p + 3 of token 4 q + e
            const __m512i a = quarters<0b10'00'10'00>(found[e], found[4 + e]);
            const __m512i b = quarters<0b11'01'11'01>(found[e], found[4 + e]);
            const __m512i c = quarters<0b10'00'10'00>(found[8 + e], found[12 + e]);
            const __m512i d = quarters<0b11'01'11'01>(found[8 + e], found[12 + e]);
            store_row<Lanes>(rows + e * Lanes, quarters<0b10'00'10'00>(a, c));
            store_row<Lanes>(rows + (4 + e) * Lanes, quarters<0b10'00'10'00>(b, d));
            store_row<Lanes>(rows + (8 + e) * Lanes, quarters<0b11'01'11'01>(a, c));
            store_row<Lanes>(rows + (12 + e) * Lanes, quarters<0b11'01'11'01>(b, d));
        }
    }

    template <int Picked>
    static __m512i quarters(__m512i a, __m512i b) {
        return _mm512_shuffle_i32x4(a, b, Picked);
    }

    template <int Lanes>
    static void store_row(int16_t* row, __m512i x) {
        if constexpr (Lanes == kStrip) {
            _mm512_storeu_si512(row, x);
        } else {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(row), _mm512_castsi512_si256(x));
        }
    }

    // In each quarter: int32 number j of x[i] and number i of x[j] change places.
    static void transpose_quarters(__m512i* x) {
        const __m512i a = _mm512_unpacklo_epi32(x[0], x[2]), b = _mm512_unpackhi_epi32(x[0], x[2]);
        const __m512i c = _mm512_unpacklo_epi32(x[1], x[3]), d = _mm512_unpackhi_epi32(x[1], x[3]);
        x[0] = _mm512_unpacklo_epi32(a, c), x[1] = _mm512_unpackhi_epi32(a, c);
        x[2] = _mm512_unpacklo_epi32(b, d), x[3] = _mm512_unpackhi_epi32(b, d);
    }

    // 16 bytes of every fourth row.
    static __m512i gather(const uint8_t* const* rows, int64_t at) {
        const auto part = [&](int row) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[row] + at)); };
        __m512i x = _mm512_castsi128_si512(part(0));
        x = _mm512_inserti32x4(x, part(4), 1);
        x = _mm512_inserti32x4(x, part(8), 2);
        return _mm512_inserti32x4(x, part(12), 3);
    }

    // (x & 15) | the number of the table times 16
    static __m512i to_places(__m512i x) {
        return _mm512_ternarylogic_epi32(x, _mm512_set1_epi8(15), _mm512_set1_epi32(0x30201000), 0b11101010);
    }

    static void store(int8_t* to, __m512i x) { _mm512_storeu_si512(to, x); }

    const ResidualQuery& query_;
    int64_t steps_;
    int8_t* pairs_;   // [pairs of query tokens][kBlock], int32
    int8_t* places_;  // [steps][kBlock][4]
};

#else  // AVX-512 is emulated
using PermutedSignSums = SignSums;
#endif

}  // namespace
}  // namespace maxsieve
