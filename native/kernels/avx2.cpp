// AVX2 with FMA and F16C. Only this file is compiled for them: it must instantiate no inline function with external
// linkage (nothing of the standard library but memcpy), or the linker might hand its AVX2 code to an older CPU.
//
// Packed query codes: a 32-byte vector holds `width` tokens side by side, 32 / width bytes of each, so that
// broadcasting 32 / width bytes of a document token meets all of them at once. Tokens are packed eight to a vector (4
// bytes each); the last T % 8 of them four, two or one to a vector, so that a bandit's round of four tokens wastes no
// lane.
//
//   width 8: [k/4 ] t0 k..k+3 | t1 k..k+3 | ... | t7 k..k+3
//   width 4: [k/8 ] t0 k..k+7 | t1 k..k+7 | t2 k..k+7 | t3 k..k+7        and so on for 2 and 1
//
// A product is maddubs(|c|, sign(y, c)): unsigned times signed bytes, added in pairs to int16. Codes are within +-127,
// so a pair is at most 2 * 127^2 = 32,258 < 2^15: the instruction's saturation never happens. madd with ones widens to
// int32, where |sum| <= 127^2 * 4096 < 2^27.

#include <immintrin.h>

#include "kernels/generic/cells.hpp"
#include "kernels/generic/quantise.hpp"
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

constexpr int64_t kVector = 32;

// The width for the next group of tokens, when `left` remain.
inline int64_t next_width(int64_t left) {
    return left >= 5 ? 8 : left >= 3 ? 4 : left;
}

size_t packed_bytes(int64_t tokens, int64_t stride) {
    size_t bytes = 0;
    for (int64_t t = 0; t < tokens;) {
        const int64_t width = next_width(tokens - t);
        bytes += static_cast<size_t>(width * stride);
        t += width;
    }
    return bytes;
}

void pack(const int8_t* codes, int64_t tokens, int64_t stride, int8_t* packed) {
    for (int64_t t = 0; t < tokens;) {
        const int64_t width = next_width(tokens - t), piece = kVector / width;
        for (int64_t k = 0; k < stride; k += piece) {
            for (int64_t w = 0; w < width; ++w, packed += piece) {
                if (t + w < tokens) {
                    std::memcpy(packed, codes + (t + w) * stride + k, static_cast<size_t>(piece));
                } else {
                    std::memset(packed, 0, static_cast<size_t>(piece));
                }
            }
        }
        t += width;
    }
}

template <int Width>
inline __m256i broadcast_piece(const int8_t* from) {
    if constexpr (Width == 8) {
        int32_t piece;
        std::memcpy(&piece, from, sizeof piece);
        return _mm256_set1_epi32(piece);
    } else if constexpr (Width == 4) {
        int64_t piece;
        std::memcpy(&piece, from, sizeof piece);
        return _mm256_set1_epi64x(piece);
    } else if constexpr (Width == 2) {
        return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    } else {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    }
}

// Raises best[t] for the tokens of a group to the dot products whose parts lie in `sums`, 8 / Width of them a token.
template <int Width>
inline void raise(__m256i sums, int64_t tokens, int32_t* best) {
    if constexpr (Width == 8) {
        if (tokens == 8) {
            auto* eight = reinterpret_cast<__m256i*>(best);
            _mm256_storeu_si256(eight, _mm256_max_epi32(_mm256_loadu_si256(eight), sums));
            return;
        }
    }
    alignas(32) int32_t part[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(part), sums);
    constexpr int kParts = 8 / Width;
    for (int64_t t = 0; t < tokens; ++t) {
        int32_t dot = 0;
        for (int p = 0; p < kParts; ++p) dot += part[t * kParts + p];
        best[t] = dot > best[t] ? dot : best[t];
    }
}

// Bytes from a row to the one that is prefetched while it is worked on: some 100 ns away at the rate of the widest
// block.
constexpr int64_t kAhead = 1024;
constexpr int64_t kLineBytes = 64;

// Rows document tokens against Vectors vectors of Width query tokens, whose `tokens` (<= Vectors * Width) are real.
template <int Width, int Vectors, int Rows>
void dots(const int8_t* packed, int64_t stride, const int8_t* rows, int64_t tokens, int32_t* best) {
    constexpr int64_t kPiece = kVector / Width;
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i sums[Rows][Vectors];
    for (int r = 0; r < Rows; ++r) {
        for (int v = 0; v < Vectors; ++v) sums[r][v] = _mm256_setzero_si256();
    }
    for (int64_t k = 0; k < stride; k += kPiece, packed += kVector) {
        __m256i query[Vectors];
        for (int v = 0; v < Vectors; ++v) {
            query[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(packed + v * stride * Width));
        }
        if (k % kLineBytes == 0) {
            for (int r = 0; r < Rows; ++r) __builtin_prefetch(rows + r * stride + k + kAhead);
        }
        for (int r = 0; r < Rows; ++r) {
            const __m256i token = broadcast_piece<Width>(rows + r * stride + k);
            const __m256i magnitude = _mm256_abs_epi8(token);
            for (int v = 0; v < Vectors; ++v) {
                const __m256i pairs = _mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(query[v], token));
                sums[r][v] = _mm256_add_epi32(sums[r][v], _mm256_madd_epi16(pairs, ones));
            }
        }
    }
    for (int v = 0; v < Vectors; ++v) {
        if constexpr (Width == 8) {
            __m256i largest = sums[0][v];
            for (int r = 1; r < Rows; ++r) largest = _mm256_max_epi32(largest, sums[r][v]);
            raise<8>(largest, tokens - 8 * v < 8 ? tokens - 8 * v : 8, best + 8 * v);
        } else {
            for (int r = 0; r < Rows; ++r) raise<Width>(sums[r][v], tokens, best);
        }
    }
}

template <int Width, int Vectors, int Rows>
void dots_over(const int8_t* packed, int64_t stride, const CodeSpan& span, int64_t tokens, int32_t* best) {
    int64_t j = 0;
    for (; j + Rows <= span.rows; j += Rows) {
        dots<Width, Vectors, Rows>(packed, stride, span.codes + j * stride, tokens, best);
    }
    for (; j < span.rows; ++j) dots<Width, Vectors, 1>(packed, stride, span.codes + j * stride, tokens, best);
}

void maxima(const int8_t* packed, int64_t tokens, int64_t stride, const CodeSpan* spans, int64_t count, int32_t* best) {
    for (int64_t s = 0; s < count; ++s, best += tokens) {
        const int8_t* group = packed;
        for (int64_t t = 0; t < tokens;) {
            const int64_t left = tokens - t;
            int64_t taken;
            switch (next_width(left)) {
                case 8: {
                    const int64_t vectors = (left + 3) / 8 < 4 ? (left + 3) / 8 : 4;
                    taken = left < 8 * vectors ? left : 8 * vectors;
                    switch (vectors) {
                        case 4:
                            dots_over<8, 4, 2>(group, stride, spans[s], taken, best + t);
                            break;
                        case 3:
                            dots_over<8, 3, 2>(group, stride, spans[s], taken, best + t);
                            break;
                        case 2:
                            dots_over<8, 2, 4>(group, stride, spans[s], taken, best + t);
                            break;
                        default:
                            dots_over<8, 1, 8>(group, stride, spans[s], taken, best + t);
                            break;
                    }
                    group += 8 * vectors * stride;
                    break;
                }
                case 4:
                    taken = left < 4 ? left : 4;
                    dots_over<4, 1, 8>(group, stride, spans[s], taken, best + t);
                    group += 4 * stride;
                    break;
                case 2:
                    taken = 2;
                    dots_over<2, 1, 8>(group, stride, spans[s], taken, best + t);
                    group += 2 * stride;
                    break;
                default:
                    taken = 1;
                    dots_over<1, 1, 8>(group, stride, spans[s], taken, best + t);
                    group += stride;
                    break;
            }
            t += taken;
        }
    }
}

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
    .packed_bytes = packed_bytes,
    .pack = pack,
    .maxima = maxima,
    .quantise = generic_quantise,
    .widen = widen,
};

}  // namespace maxsieve
