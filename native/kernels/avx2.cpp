// AVX2 with FMA and F16C. Only this file is compiled for them. It must not instantiate inline functions with external
// linkage (from the standard library only memcpy is allowed): otherwise the linker could use their AVX2 code on an
// older CPU.
//
// The integer maxima (avx2/maxima.hpp) multiply |y| by c ^ m, where m is -1 if y is negative and 0 otherwise:
// vpmaddubsw needs one unsigned side, and c ^ -1 = -c - 1 is a negation for one plain operation. The result is too
// small by the sum of |y| over the negative y. That sum is the same for every document token, so the sums start from
// it.
//
// Nothing saturates: |y| <= 127 and -128 <= c ^ m <= 127 for any byte c, so that a pair of products is at most 2 * 127
// * 128 = 32,512 < 2^15. vpmaddwd with ones widens pairs to int32, where |sum| <= 4096 * 127 * 129 < 2^26, the start
// included.
//
// Four operations for 32 products: vpxor, vpmaddubsw, vpmaddwd, vpaddd. Zen 3 has four vector pipes, of which two
// multiply. vpsignb, the usual way to negate, needs these two as well: 32 products take 1.5 cycles, while with vpxor
// they can take 1 (measured in this kernel: 21 and 26 products a cycle). Codes widened to int16 need no vpxor, but a
// second vpmaddwd and vpaddd: as many operations on twice the bytes (in a simple loop that does not load the query: 24
// to 26 products a cycle, against 27 to 28 this way). Not measured, but from published port tables: Skylake has vpsignb
// and both multiplications on ports 0 and 1, which makes it 1.33 cycles instead of 1.5; Haswell multiplies on one port
// and takes 2 either way.

#include <immintrin.h>

#include "kernels/avx2/avxvnni.hpp"
#include "kernels/avx2/dots.hpp"
#include "kernels/generic/add_cells.hpp"
#include "kernels/generic/cells.hpp"
#include "kernels/generic/group_largest.hpp"
#include "kernels/generic/lookup.hpp"
#include "kernels/generic/quantise.hpp"
#include "kernels/generic/residual.hpp"
#include "kernels/generic/row_dots.hpp"
#include "kernels/generic/sign_tables.hpp"
#include "kernels/generic/similarities.hpp"
#include "kernels/generic/weighted_sums.hpp"
#include "kernels/kernel.hpp"

namespace maxsieve {
namespace {

struct Avx2 {
    using Register = __m256;
    static constexpr int kLanes = 8;
    static __m256 zero() { return _mm256_setzero_ps(); }
    static __m256 load(const float* from) { return _mm256_loadu_ps(from); }
    static void store(float* to, __m256 x) { _mm256_storeu_ps(to, x); }
    static __m256 broadcast(const float* from) { return _mm256_broadcast_ss(from); }
    static __m256 fma(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
    static __m256 max(__m256 a, __m256 b) { return _mm256_max_ps(a, b); }
};

struct SignedPairs {
    static constexpr int kPlanes = 2, kRows = 8, kLongRows = 4, kRowsOfTwo = 4;

    struct Query {
        __m256i magnitude, negative;
    };

    // Without branches, because signs can't be predicted.
    static int8_t mask(int8_t y) { return static_cast<int8_t>(y >> 7); }
    static int32_t start(int8_t y) { return -(y & mask(y)); }
    static void put(int8_t y, int8_t* planes) {
        planes[0] = static_cast<int8_t>((y ^ mask(y)) - mask(y));
        planes[kVector] = mask(y);
    }
    static Query query(const int8_t* planes) { return {load(planes), load(planes + kVector)}; }
    static __m256i token(__m256i codes) { return codes; }
    static __m256i add(__m256i sums, const Query& query, __m256i token) {
        const __m256i pairs = _mm256_maddubs_epi16(query.magnitude, _mm256_xor_si256(token, query.negative));
        return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    }
};

void widen(const uint16_t* halves, int64_t count, float* floats) {
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(halves + i));
        _mm256_storeu_ps(floats + i, _mm256_cvtph_ps(eight));
    }
    for (; i < count; ++i) floats[i] = _cvtsh_ss(halves[i]);
}

}  // namespace

const Kernel kAvx2{
    .name = "avx2",
    .cells = generic_cells<Avx2>,
    .packed_bytes = packed_bytes<SignedPairs>,
    .pack = pack<SignedPairs>,
    .maxima = maxima<SignedPairs>,
    .dots = dots<SignedPairs>,
    .row_dots = generic_row_dots,
    .add_cells = generic_add_cells,
    .group_largest = generic_group_largest,
    .first_largest = generic_first_largest,
    .to_bytes = generic_to_bytes,
    .lookup = generic_lookup,
    .weighted_sums = generic_weighted_sums,
    .quantise = generic_quantise,
    .all_valid = generic_all_valid,
    .widen = widen,
    .scale_codes = generic_scale_codes,
    .residual_maxima = generic_residual_maxima<dots<SignedPairs>>,
    .to_entries = generic_to_entries,
    .sign_tables = generic_sign_tables,
    .decode_residual = generic_decode_residual,
};

const Kernel kAvxVnni{
    .name = "avx2",
    .cells = generic_cells<Avx2>,
    .packed_bytes = avxvnni_packed_bytes,
    .pack = avxvnni_pack,
    .maxima = avxvnni_maxima,
    .dots = avxvnni_dots,
    .row_dots = generic_row_dots,
    .add_cells = generic_add_cells,
    .group_largest = generic_group_largest,
    .first_largest = generic_first_largest,
    .to_bytes = generic_to_bytes,
    .lookup = generic_lookup,
    .weighted_sums = generic_weighted_sums,
    .quantise = generic_quantise,
    .all_valid = generic_all_valid,
    .widen = widen,
    .scale_codes = generic_scale_codes,
    .residual_maxima = generic_residual_maxima<avxvnni_dots>,
    .to_entries = generic_to_entries,
    .sign_tables = generic_sign_tables,
    .decode_residual = generic_decode_residual,
};

}  // namespace maxsieve
