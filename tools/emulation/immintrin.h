// Included before the compiler's <immintrin.h> when the AVX-512 and AMX kernels are built for a machine without either.
// SIMDe has the AVX-512 intrinsics, and this folder has what SIMDe 0.7.4 lacks. AVX2, FMA and F16C are those of the
// machine, so that a fused multiply-add is a real one.
#pragma once

#include_next <immintrin.h>

#if !defined(__FMA__) || !defined(__F16C__) || defined(__AVX512F__)
#error "emulation is for -mavx2 -mfma -mf16c, without AVX-512"
#endif

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#include "amx.hpp"

inline __m512i emulated_maskz_loadu_epi32(__mmask16 lanes, const void* from) {
    int numbers[16] = {};
    for (int lane = 0; lane < 16; ++lane) {
        if (lanes >> lane & 1) __builtin_memcpy(numbers + lane, static_cast<const char*>(from) + 4 * lane, 4);
    }
    return _mm512_loadu_si512(numbers);
}
#define _mm512_maskz_loadu_epi32 emulated_maskz_loadu_epi32

inline void emulated_mask_storeu_epi32(void* to, __mmask16 lanes, __m512i x) {
    int numbers[16];
    _mm512_storeu_si512(numbers, x);
    for (int lane = 0; lane < 16; ++lane) {
        if (lanes >> lane & 1) __builtin_memcpy(static_cast<char*>(to) + 4 * lane, numbers + lane, 4);
    }
}
#define _mm512_mask_storeu_epi32 emulated_mask_storeu_epi32

inline __m512 emulated_cvtph_ps(__m256i halves) {
    float numbers[16];
    _mm256_storeu_ps(numbers, _mm256_cvtph_ps(_mm256_castsi256_si128(halves)));
    _mm256_storeu_ps(numbers + 8, _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1)));
    return _mm512_loadu_ps(numbers);
}
#define _mm512_cvtph_ps emulated_cvtph_ps
