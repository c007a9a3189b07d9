// Registers of int16 lanes, for the scan of residual bits.
#pragma once

#include <cstdint>
#include <cstring>

#include "compiler.hpp"

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
    static Sums start() { return {_mm512_set1_epi32(INT32_MIN), _mm512_set1_epi32(INT32_MIN)}; }
    static Sums product(Words a, Words b, int32_t pair) {
        const __m512i factors = _mm512_set1_epi32(pair);
        return {_mm512_madd_epi16(_mm512_unpacklo_epi16(a, b), factors),
                _mm512_madd_epi16(_mm512_unpackhi_epi16(a, b), factors)};
    }
    static Sums plus(Sums a, Sums b) { return {_mm512_add_epi32(a.low, b.low), _mm512_add_epi32(a.high, b.high)}; }
    static Sums larger(Sums a, Sums b) { return {_mm512_max_epi32(a.low, b.low), _mm512_max_epi32(a.high, b.high)}; }
    static void store(int32_t* to, Sums sums) {
        const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
        const __m512i last = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
        _mm512_storeu_si512(to, _mm512_permutex2var_epi64(sums.low, first, sums.high));
        _mm512_storeu_si512(to + 16, _mm512_permutex2var_epi64(sums.low, last, sums.high));
    }
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
    static Sums start() { return {_mm256_set1_epi32(INT32_MIN), _mm256_set1_epi32(INT32_MIN)}; }
    static Sums product(Words a, Words b, int32_t pair) {
        const __m256i factors = _mm256_set1_epi32(pair);
        return {_mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), factors),
                _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), factors)};
    }
    static Sums plus(Sums a, Sums b) { return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)}; }
    static Sums larger(Sums a, Sums b) { return {_mm256_max_epi32(a.low, b.low), _mm256_max_epi32(a.high, b.high)}; }
    static void store(int32_t* to, Sums sums) {
        const __m256i first = _mm256_permute2x128_si256(sums.low, sums.high, 0x20);
        const __m256i last = _mm256_permute2x128_si256(sums.low, sums.high, 0x31);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), first);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 8), last);
    }
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
    static Sums start() { return {vdupq_n_s32(INT32_MIN), vdupq_n_s32(INT32_MIN)}; }
    static Sums product(Words a, Words b, int32_t pair) {
        const auto first = static_cast<int16_t>(pair & 0xFFFF), second = static_cast<int16_t>(pair >> 16);
        return {vmlal_n_s16(vmull_n_s16(vget_low_s16(a), first), vget_low_s16(b), second),
                vmlal_n_s16(vmull_n_s16(vget_high_s16(a), first), vget_high_s16(b), second)};
    }
    static Sums plus(Sums a, Sums b) { return {vaddq_s32(a.low, b.low), vaddq_s32(a.high, b.high)}; }
    static Sums larger(Sums a, Sums b) { return {vmaxq_s32(a.low, b.low), vmaxq_s32(a.high, b.high)}; }
    static void store(int32_t* to, Sums sums) {
        vst1q_s32(to, sums.low);
        vst1q_s32(to + 4, sums.high);
    }
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
    static void store(int32_t* to, const Sums& sums) {
        std::memcpy(to, sums.low, sizeof sums.low);
        std::memcpy(to + 4, sums.high, sizeof sums.high);
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

}  // namespace
}  // namespace maxsieve
