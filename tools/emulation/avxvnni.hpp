// AVX-VNNI's vpdpbusd after Intel's Software Developer's Manual, for building avxvnni.cpp with only -mavx2.
#pragma once

#include <immintrin.h>

#if defined(__AVXVNNI__)
#error "emulation is for -mavx2, without AVX-VNNI"
#endif

inline __m256i emulated_dpbusd_avx_epi32(__m256i sums, __m256i bytes, __m256i signed_bytes) {
    int sum[8];
    unsigned char x[32];
    signed char y[32];
    __builtin_memcpy(sum, &sums, 32);
    __builtin_memcpy(x, &bytes, 32);
    __builtin_memcpy(y, &signed_bytes, 32);
    for (int i = 0; i < 32; ++i) sum[i / 4] += x[i] * y[i];
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sum));
}
#define _mm256_dpbusd_avx_epi32 emulated_dpbusd_avx_epi32
