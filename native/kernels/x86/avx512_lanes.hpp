// Dot products of several tokens in one vector: loading the bytes, and reading out sums and maxima. `Width` tokens
// share a vector: 64 / Width bytes of each, or 16 / Width sums.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "compiler.hpp"

namespace maxsieve {
namespace {

inline __m512i load(const void* from) {
    return _mm512_loadu_si512(from);
}

// The same 64 / Width bytes for every token.
template <int Width>
inline __m512i broadcast_piece(const uint8_t* from) {
    if constexpr (Width == 16) {
        int32_t piece;
        std::memcpy(&piece, from, sizeof piece);
        return _mm512_set1_epi32(piece);
    } else if constexpr (Width == 8) {
        int64_t piece;
        std::memcpy(&piece, from, sizeof piece);
        return _mm512_set1_epi64(piece);
    } else if constexpr (Width == 4) {
        return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    } else if constexpr (Width == 2) {
        return _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    } else {
        return load(from);
    }
}

// Sixteen int32. For the compiler, __m512i is eight int64: it would copy the sums at every step of a loop.
typedef int32_t Sums MAXSIEVE_VECTOR(64);

inline Sums multiply_add(Sums sums, __m512i token, __m512i query) {
    return Sums(_mm512_dpbusd_epi32(__m512i(sums), token, query));
}

// `elements`: picks 32-bit elements from each 128 bits of a, then of b. `quarters`: picks 128-bit quarters of a, then
// of b.
template <int Picked>
inline __m512i elements(__m512i a, __m512i b) {
    return _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), Picked));
}
template <int Picked>
inline __m512i quarters(__m512i a, __m512i b) {
    return _mm512_shuffle_i32x4(a, b, Picked);
}
constexpr int kEven = 0b10'00'10'00, kOdd = 0b11'01'11'01, kSwapped = 0b10'11'00'01, kHalvesSwapped = 0b01'00'11'10;

// Each dot product is spread over `Parts` lanes. Adds the lanes up for as many rows, one vector each, into one vector
// with a lane for each token and row.
template <int Parts>
inline __m512i fold_parts(const Sums* sums) {
    if constexpr (Parts == 1) {
        return __m512i(*sums);
    } else {
        const __m512i a = fold_parts<Parts / 2>(sums), b = fold_parts<Parts / 2>(sums + Parts / 2);
        if constexpr (Parts <= 4) return _mm512_add_epi32(elements<kEven>(a, b), elements<kOdd>(a, b));
        return _mm512_add_epi32(quarters<kEven>(a, b), quarters<kOdd>(a, b));
    }
}

// For each token, in order: the largest of its lanes.
template <int Width>
inline __m512i largest_of_rows(__m512i x) {
    constexpr __mmask16 kTokens = Width == 8 ? 0x3333 : 0x1111;
    if constexpr (Width == 16) {
        return x;
    } else {
        x = _mm512_max_epi32(x, elements<kHalvesSwapped>(x, x));
        if constexpr (Width <= 4) x = _mm512_max_epi32(x, elements<kSwapped>(x, x));
        if constexpr (Width <= 2) x = _mm512_max_epi32(x, quarters<kHalvesSwapped>(x, x));
        if constexpr (Width == 1) x = _mm512_max_epi32(x, quarters<kSwapped>(x, x));
        return _mm512_maskz_compress_epi32(kTokens, x);
    }
}

}  // namespace
}  // namespace maxsieve
