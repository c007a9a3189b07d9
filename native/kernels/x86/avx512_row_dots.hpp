// Dot products of one query token with many rows of codes, for the two AVX-512 tables. Sixteen rows at a time have a
// vector of sums each, which are then added up across. Products and their bias are those of avx512vnni.cpp.
//
// Overflow: as there, below 2^28 throughout.
#pragma once

#include "kernels/kernel.hpp"
#include "kernels/x86/avx512_lanes.hpp"

namespace maxsieve {
namespace {

inline void avx512_row_dots(const int16_t* query, int64_t stride, const int8_t* rows, int64_t count, int32_t* out) {
    constexpr int64_t kVector = 64, kRows = 16;
    alignas(64) int8_t codes[kMaxStride + kVector];  // zeros behind the last: half a vector may be missing
    int32_t sum = 0;
    for (int64_t k = 0; k < stride; ++k) codes[k] = static_cast<int8_t>(query[k]), sum += query[k];
    std::memset(codes + stride, 0, kVector);
    const __m512i bias = _mm512_set1_epi8(-128), start = _mm512_set1_epi32(-128 * sum);
    for (int64_t j = 0; j < count; j += kRows) {
        const int64_t real = count - j < kRows ? count - j : kRows;
        const int8_t* row[kRows];
        MAXSIEVE_UNROLL
        for (int64_t r = 0; r < kRows; ++r) row[r] = rows + (j + (r < real ? r : real - 1)) * stride;
        Sums sums[kRows] = {};
        int64_t k = 0;
        for (; k + kVector <= stride; k += kVector) {
            const __m512i y = load(codes + k);
            MAXSIEVE_UNROLL
            for (int64_t r = 0; r < kRows; ++r) {
                sums[r] = multiply_add(sums[r], _mm512_xor_si512(load(row[r] + k), bias), y);
            }
        }
        if (k < stride) {
            const __m512i y = load(codes + k);
            MAXSIEVE_UNROLL
            for (int64_t r = 0; r < kRows; ++r) {
                const __m512i half = _mm512_maskz_loadu_epi32(0x00FF, row[r] + k);
                sums[r] = multiply_add(sums[r], _mm512_xor_si512(half, bias), y);
            }
        }
        const auto lanes = static_cast<__mmask16>(real < kRows ? (1 << real) - 1 : 0xFFFF);
        _mm512_mask_storeu_epi32(out + j, lanes, _mm512_add_epi32(start, fold_parts<kRows>(sums)));
    }
}

}  // namespace
}  // namespace maxsieve
