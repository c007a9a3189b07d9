// Registers of bytes with a table of 16 bytes in each 16 of them, for the scan of residual bits. Every 16 bytes of a
// register are treated alike; `kParts` of them are one register.
//
// `Sums` are sums of unsigned bytes as int16, modulo 2^16, in two registers. Word w of part p of the first or second
// register (`which`) belongs to byte 16 p + place(w, which).
#pragma once

#include <cstdint>

#include "compiler.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace maxsieve {
namespace {

template <int Bytes>
struct ByteRegister;

#if defined(__AVX512BW__)
template <>
struct ByteRegister<64> {
    using Bytes = __m512i;
    struct Sums {
        __m512i all, odd;
    };
    static constexpr int kParts = 4, kTogether = 4;
    static constexpr int place(int word, int which) { return 2 * word + which; }
    static Bytes load(const void* from) { return _mm512_loadu_si512(from); }
    static void store(void* to, Bytes x) { _mm512_storeu_si512(to, x); }
    static Bytes repeat(const uint8_t* sixteen) { return _mm512_broadcast_i32x4(part(sixteen)); }
    static Bytes gather(const uint8_t* const* rows, int64_t at) {
        Bytes x = _mm512_castsi128_si512(part(rows[0] + at));
        x = _mm512_inserti32x4(x, part(rows[16] + at), 1);
        x = _mm512_inserti32x4(x, part(rows[32] + at), 2);
        return _mm512_inserti32x4(x, part(rows[48] + at), 3);
    }
    // Stores part p of x at p * apart.
    static void scatter(int16_t* to, int64_t apart, Bytes x) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_castsi512_si128(x));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + apart), _mm512_extracti32x4_epi32(x, 1));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 2 * apart), _mm512_extracti32x4_epi32(x, 2));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 3 * apart), _mm512_extracti32x4_epi32(x, 3));
    }
    static Bytes look_up(Bytes table, Bytes places) { return _mm512_shuffle_epi8(table, places); }
    static Bytes plus(Bytes a, Bytes b) { return _mm512_add_epi8(a, b); }
    static Bytes low_halves(Bytes x) { return _mm512_and_si512(x, _mm512_set1_epi8(15)); }
    static Bytes high_halves(Bytes x) { return low_halves(_mm512_srli_epi16(x, 4)); }
    static Bytes zip_first(Bytes a, Bytes b) { return _mm512_unpacklo_epi8(a, b); }
    static Bytes zip_last(Bytes a, Bytes b) { return _mm512_unpackhi_epi8(a, b); }
    static Bytes zip_first_words(Bytes a, Bytes b) { return _mm512_unpacklo_epi16(a, b); }
    static Bytes zip_last_words(Bytes a, Bytes b) { return _mm512_unpackhi_epi16(a, b); }
    static Sums start(int16_t sum) {
        return {_mm512_set1_epi16(static_cast<int16_t>(257 * sum)), _mm512_set1_epi16(sum)};
    }
    static void add(Sums& sums, Bytes x) {
        sums.all = _mm512_add_epi16(sums.all, x);
        sums.odd = _mm512_add_epi16(sums.odd, _mm512_srli_epi16(x, 8));
        // Otherwise GCC keeps a second copy of every sum, some of them in memory, for use after the loop.
        MAXSIEVE_IN_REGISTER(sums.all);
        MAXSIEVE_IN_REGISTER(sums.odd);
    }
    static Bytes first(const Sums& sums) { return _mm512_sub_epi16(sums.all, _mm512_slli_epi16(sums.odd, 8)); }
    static Bytes second(const Sums& sums) { return sums.odd; }

  private:
    static __m128i part(const uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
};
constexpr int kBytesOfRegister = 64;

#elif defined(__AVX2__)
template <>
struct ByteRegister<32> {
    using Bytes = __m256i;
    // `all` has sums of pairs of bytes as words, `odd` of the second of each pair: one shift and two additions.
    struct Sums {
        __m256i all, odd;
    };
    static constexpr int kParts = 2, kTogether = 2;
    static constexpr int place(int word, int which) { return 2 * word + which; }
    static Bytes load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
    static void store(void* to, Bytes x) { _mm256_storeu_si256(static_cast<__m256i*>(to), x); }
    static Bytes repeat(const uint8_t* sixteen) { return _mm256_broadcastsi128_si256(part(sixteen)); }
    static Bytes gather(const uint8_t* const* rows, int64_t at) {
        return _mm256_inserti128_si256(_mm256_castsi128_si256(part(rows[0] + at)), part(rows[16] + at), 1);
    }
    static void scatter(int16_t* to, int64_t apart, Bytes x) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(x));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + apart), _mm256_extracti128_si256(x, 1));
    }
    static Bytes look_up(Bytes table, Bytes places) { return _mm256_shuffle_epi8(table, places); }
    static Bytes plus(Bytes a, Bytes b) { return _mm256_add_epi8(a, b); }
    static Bytes low_halves(Bytes x) { return _mm256_and_si256(x, _mm256_set1_epi8(15)); }
    static Bytes high_halves(Bytes x) { return low_halves(_mm256_srli_epi16(x, 4)); }
    static Bytes zip_first(Bytes a, Bytes b) { return _mm256_unpacklo_epi8(a, b); }
    static Bytes zip_last(Bytes a, Bytes b) { return _mm256_unpackhi_epi8(a, b); }
    static Bytes zip_first_words(Bytes a, Bytes b) { return _mm256_unpacklo_epi16(a, b); }
    static Bytes zip_last_words(Bytes a, Bytes b) { return _mm256_unpackhi_epi16(a, b); }
    static Sums start(int16_t sum) {
        return {_mm256_set1_epi16(static_cast<int16_t>(257 * sum)), _mm256_set1_epi16(sum)};
    }
    static void add(Sums& sums, Bytes x) {
        sums.all = _mm256_add_epi16(sums.all, x);
        sums.odd = _mm256_add_epi16(sums.odd, _mm256_srli_epi16(x, 8));
        MAXSIEVE_IN_REGISTER(sums.all);
        MAXSIEVE_IN_REGISTER(sums.odd);
    }
    static Bytes first(const Sums& sums) { return _mm256_sub_epi16(sums.all, _mm256_slli_epi16(sums.odd, 8)); }
    static Bytes second(const Sums& sums) { return sums.odd; }

  private:
    static __m128i part(const uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
};
constexpr int kBytesOfRegister = 32;

#elif defined(__aarch64__)
template <>
struct ByteRegister<16> {
    using Bytes = uint8x16_t;
    struct Sums {
        uint16x8_t low, high;
    };
    static constexpr int kParts = 1, kTogether = 4;
    static constexpr int place(int word, int which) { return word + 8 * which; }
    static Bytes load(const void* from) { return vld1q_u8(static_cast<const uint8_t*>(from)); }
    static void store(void* to, Bytes x) { vst1q_u8(static_cast<uint8_t*>(to), x); }
    static Bytes repeat(const uint8_t* sixteen) { return vld1q_u8(sixteen); }
    static Bytes gather(const uint8_t* const* rows, int64_t at) { return vld1q_u8(rows[0] + at); }
    static void scatter(int16_t* to, int64_t, Bytes x) { vst1q_u16(reinterpret_cast<uint16_t*>(to), words(x)); }
    static Bytes look_up(Bytes table, Bytes places) { return vqtbl1q_u8(table, places); }
    static Bytes plus(Bytes a, Bytes b) { return vaddq_u8(a, b); }
    static Bytes low_halves(Bytes x) { return vandq_u8(x, vdupq_n_u8(15)); }
    static Bytes high_halves(Bytes x) { return vshrq_n_u8(x, 4); }
    static Bytes zip_first(Bytes a, Bytes b) { return vzip1q_u8(a, b); }
    static Bytes zip_last(Bytes a, Bytes b) { return vzip2q_u8(a, b); }
    static Bytes zip_first_words(Bytes a, Bytes b) { return bytes(vzip1q_u16(words(a), words(b))); }
    static Bytes zip_last_words(Bytes a, Bytes b) { return bytes(vzip2q_u16(words(a), words(b))); }
    static Sums start(int16_t sum) {
        const uint16x8_t all = vdupq_n_u16(static_cast<uint16_t>(sum));
        return {all, all};
    }
    static void add(Sums& sums, Bytes x) {
        sums.low = vaddw_u8(sums.low, vget_low_u8(x));
        sums.high = vaddw_u8(sums.high, vget_high_u8(x));
    }
    static Bytes first(const Sums& sums) { return bytes(sums.low); }
    static Bytes second(const Sums& sums) { return bytes(sums.high); }

  private:
    static uint16x8_t words(Bytes x) { return vreinterpretq_u16_u8(x); }
    static Bytes bytes(uint16x8_t x) { return vreinterpretq_u8_u16(x); }
};
constexpr int kBytesOfRegister = 16;
#endif

}  // namespace
}  // namespace maxsieve
