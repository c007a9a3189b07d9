// The integer maxima of AVX2 (avx2/maxima.hpp) for CPUs with AVX-VNNI: Alder Lake and later, Zen 5. Only this file is
// compiled for it. Like avx2.cpp, it must not instantiate inline functions with external linkage.
//
// vpdpbusd adds four products of unsigned and signed bytes to an int32. The document token is made unsigned, c + 128 =
// c ^ 0x80, once for all groups of a block. This makes a dot product too large by 128 times the sum of y. That is the
// same for every document token, so the sums start from its negative.
//
// Nothing saturates (vpdpbusds would): |sum| <= 4096 * 255 * 127 + 4096 * 128 * 127 < 2^28.
//
// vpdpbusd takes 5 cycles and two start in each cycle, so ten independent sums are best. Two groups have them with 5
// rows. One group has only 8, because the addresses of more rows don't fit into the general registers.

#include "kernels/avx2/avxvnni.hpp"

#include <immintrin.h>

#include "compiler.hpp"
#include "kernels/avx2/dots.hpp"

namespace maxsieve {
namespace {

struct Quadruples {
    static constexpr int kPlanes = 1, kRows = 8, kLongRows = 8, kRowsOfTwo = 5;

    using Query = __m256i;

    static int32_t start(int8_t y) { return -128 * y; }
    static void put(int8_t y, int8_t* plane) { *plane = y; }
    static Query query(const int8_t* plane) { return load(plane); }
    static __m256i token(__m256i codes) { return _mm256_xor_si256(codes, _mm256_set1_epi8(-128)); }
    static __m256i add(__m256i sums, Query query, __m256i token) {
        sums = _mm256_dpbusd_avx_epi32(sums, token, query);
        // Otherwise GCC keeps a second copy of every sum, some of them in memory, for use after the loop.
        MAXSIEVE_IN_REGISTER(sums);
        return sums;
    }
};

}  // namespace

size_t avxvnni_packed_bytes(int64_t tokens, int64_t stride) {
    return packed_bytes<Quadruples>(tokens, stride);
}

void avxvnni_pack(const int8_t* codes, int64_t tokens, int64_t stride, int8_t* packed) {
    pack<Quadruples>(codes, tokens, stride, packed);
}

void avxvnni_maxima(const int8_t* packed, int64_t tokens, int64_t stride, const CodeSpan* spans, int64_t count,
                    int32_t* best, int8_t* scratch) {
    maxima<Quadruples>(packed, tokens, stride, spans, count, best, scratch);
}

void avxvnni_dots(const int8_t* packed, int64_t tokens, int64_t stride, const int8_t* rows, int64_t count, int32_t* out,
                  int8_t* scratch) {
    dots<Quadruples>(packed, tokens, stride, rows, count, out, scratch);
}

}  // namespace maxsieve
