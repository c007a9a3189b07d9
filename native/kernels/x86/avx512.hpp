// Code that the two AVX-512 kernels share: canonical float32 cells in 16 lanes, updates of maxima, float16.
#pragma once

#include <immintrin.h>

#include "kernels/generic/cells.hpp"
#include "kernels/kernel.hpp"

namespace maxsieve {
namespace {

struct Avx512 {
    using Register = __m512;
    static constexpr int kLanes = 16;
    static constexpr int kAccumulators = 24;
    static __m512 zero() { return _mm512_setzero_ps(); }
    static __m512 load(const float* from) { return _mm512_loadu_ps(from); }
    static void store(float* to, __m512 x) { _mm512_storeu_ps(to, x); }
    static __m512 broadcast(const float* from) { return _mm512_set1_ps(*from); }
    static __m512 fma(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
    static __m512 max(__m512 a, __m512 b) { return _mm512_max_ps(a, b); }
};

// best[t] = max(best[t], dots[t]) for the first `tokens` of 16 lanes, or for all lanes if there are more.
inline void update_best(int32_t* best, __m512i dots, int64_t tokens) {
    const auto lanes = static_cast<__mmask16>(tokens < 16 ? (1 << tokens) - 1 : 0xFFFF);
    _mm512_mask_storeu_epi32(best, lanes, _mm512_max_epi32(_mm512_maskz_loadu_epi32(lanes, best), dots));
}

inline void avx512_widen(const uint16_t* halves, int64_t count, float* floats) {
    int64_t i = 0;
    for (; i + 16 <= count; i += 16) {
        const __m256i sixteen = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(halves + i));
        _mm512_storeu_ps(floats + i, _mm512_cvtph_ps(sixteen));
    }
    for (; i < count; ++i) floats[i] = _cvtsh_ss(halves[i]);
}

}  // namespace
}  // namespace maxsieve
