// AVX-512 (F, BW, VL, DQ) with VNNI, and one function with VBMI. Only this file and amx.cpp are compiled for it.
// Neither may instantiate inline functions with external linkage: otherwise the linker could use their code on an older
// CPU.
//
// vpdpbusd multiplies unsigned by signed bytes and adds four products to an int32 lane, without saturation. A bias
// makes the codes of document tokens unsigned: u = c + 128. This is one xor for 64 bytes, for any number of query
// tokens. <y, c> = <y, u> - 128 sum(y), so the sums start from -128 sum(y), which depends only on the query.
//
// Packed query codes: a 64-byte vector has `width` tokens side by side, 64 / width bytes of each. So one broadcast of
// 64 / width bytes of a document token is multiplied by all of them. Tokens are packed sixteen to a vector, with two
// vectors in a group while more than 24 tokens are left; the last tokens eight, four, two or one to a vector.
//
//   width 16: [k/4 ] t0 k..k+3 | t1 k..k+3 | ... | t15 k..k+3
//   width  4: [k/16] t0 k..k+15 | t1 k..k+15 | t2 k..k+15 | t3 k..k+15        and so on for 8, 2 and 1
//   a group:  where its sums start, then its vectors in the order of k, those of one k next to each other
//
// Document tokens are copied with their bias into a block that stays in L1: sixteen rows, as [k/64][16 rows][64 bytes],
// so that all broadcasts of a step have fixed distances from one pointer. Missing rows repeat the last one, which
// changes no maximum.
//
// Registers: sums of 8 rows x 2 vectors or 16 rows x 1 vector, the query's 2 or 1 vectors, one broadcast. vpdpbusd has
// a latency of 5 cycles, and two of them start in each cycle. So at least ten independent sums are needed; there are
// sixteen.
//
// Overflow: |y| <= 127, 1 <= u <= 255. A sum starts within 128 * 127 * 4096 and moves by at most 255 * 127 * 4096: it
// is always below 2^28.

#include "kernels/avx2/avxvnni.hpp"
#include "kernels/generic/add_cells.hpp"
#include "kernels/generic/group_largest.hpp"
#include "kernels/generic/lookup.hpp"
#include "kernels/generic/prefetch.hpp"
#include "kernels/generic/quantise.hpp"
#include "kernels/generic/residual.hpp"
#include "kernels/generic/sign_tables.hpp"
#include "kernels/generic/similarities.hpp"
#include "kernels/generic/weighted_sums.hpp"
#include "kernels/x86/avx512.hpp"
#include "kernels/x86/avx512_lanes.hpp"
#include "kernels/x86/avx512_row_dots.hpp"
#include "kernels/x86/features.hpp"
#include "kernels/x86/permuted_sign_sums.hpp"

namespace maxsieve {
namespace {

constexpr int64_t kVector = 64;
constexpr int64_t kRows = 16;  // rows of a block
// Bytes of blocks that each group of a longer query passes over, so that the blocks and the group stay in L1.
constexpr int64_t kResident = 8192;
static_assert(scratch_bytes(kMaxStride) >= kRows * kMaxStride && scratch_bytes(0) >= kResident);

constexpr int64_t whole_vectors(int64_t stride) {
    return (stride + kVector - 1) / kVector * kVector;
}

// How many of the `left` tokens share a vector.
constexpr int64_t width_for(int64_t left) {
    return left > 8 ? 16 : left > 4 ? 8 : left > 2 ? 4 : left;
}

// The next tokens to be packed together, if `left` remain.
struct Group {
    explicit Group(int64_t left)
        : width(width_for(left)), vectors(left > 24 ? 2 : 1), tokens(left < width * vectors ? left : width * vectors) {}
    size_t bytes(int64_t stride) const {
        return static_cast<size_t>(vectors * (kVector + width * whole_vectors(stride)));
    }
    int64_t width, vectors, tokens;
};

// A few query tokens, as in the rounds of a bandit, do not pay for the copies of document tokens. The kernel for
// AVX-VNNI, which has none, takes 0.8 to 0.9 times as long on Zen 5.
bool is_narrow(int64_t tokens) {
    static const bool has_other = has_avxvnni();
    return tokens <= 4 && has_other;
}

size_t packed_bytes(int64_t tokens, int64_t stride) {
    if (is_narrow(tokens)) return avxvnni_packed_bytes(tokens, stride);
    size_t bytes = 0;
    while (tokens > 0) {
        const Group group(tokens);
        bytes += group.bytes(stride);
        tokens -= group.tokens;
    }
    return bytes;
}

void pack_group(const int8_t* codes, const Group& group, int64_t stride, int8_t* packed) {
    const int64_t piece = kVector / group.width;
    int8_t* vector = packed + group.vectors * kVector;
    std::memset(packed, 0, group.bytes(stride));
    for (int64_t k = 0; k < stride; k += piece) {
        const int64_t real = stride - k < piece ? stride - k : piece;
        for (int64_t v = 0; v < group.vectors; ++v, vector += kVector) {
            for (int64_t w = 0; w < group.width && v * group.width + w < group.tokens; ++w) {
                const int8_t* token = codes + (v * group.width + w) * stride;
                std::memcpy(vector + w * piece, token + k, static_cast<size_t>(real));
            }
            int8_t* start = packed + v * kVector;
            const __m512i biases = _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi8(-128), load(vector));
            _mm512_storeu_si512(start, _mm512_sub_epi32(load(start), biases));
        }
    }
}

void pack(const int8_t* codes, int64_t tokens, int64_t stride, int8_t* packed) {
    if (is_narrow(tokens)) return avxvnni_pack(codes, tokens, stride, packed);
    while (tokens > 0) {
        const Group group(tokens);
        pack_group(codes, group, stride, packed);
        packed += group.bytes(stride);
        codes += group.tokens * stride;
        tokens -= group.tokens;
    }
}

// Makes a block of sixteen rows, of which the first `rows` are real.
inline void bias_block(const int8_t* codes, int64_t rows, int64_t stride, uint8_t* block) {
    const __m512i bias = _mm512_set1_epi8(-128);
    for (int64_t r = 0; r < kRows; ++r, block += kVector) {
        const int8_t* row = codes + (r < rows ? r : rows - 1) * stride;
        int64_t k = 0;
        for (; k + kVector <= stride; k += kVector) {
            _mm512_storeu_si512(block + k * kRows, _mm512_xor_si512(load(row + k), bias));
        }
        if (k < stride) {  // half a vector; the query is zero after it
            _mm512_storeu_si512(block + k * kRows, _mm512_xor_si512(_mm512_maskz_loadu_epi32(0x00FF, row + k), bias));
        }
    }
}

// The sums of Rows document tokens of a block and one group of query tokens.
template <int Width, int Vectors, int Rows>
[[gnu::always_inline]] inline void multiply_block(const int8_t* group, const uint8_t* rows, int64_t chunks,
                                                  Prefetcher& prefetcher, Sums (&sums)[Vectors][Rows]) {
    constexpr int64_t kPiece = kVector / Width;
    for (int v = 0; v < Vectors; ++v) {
        for (int r = 0; r < Rows; ++r) sums[v][r] = Sums(load(group + v * kVector));
    }
    group += Vectors * kVector;
    for (; chunks > 0; --chunks, rows += kRows * kVector) {
        prefetcher.advance(Rows * kVector);
        for (int64_t k = 0; k < kVector; k += kPiece, group += Vectors * kVector) {
            __m512i query[Vectors];
            for (int v = 0; v < Vectors; ++v) query[v] = load(group + v * kVector);
            for (int r = 0; r < Rows; ++r) {
                const __m512i token = broadcast_piece<Width>(rows + r * kVector + k);
                for (int v = 0; v < Vectors; ++v) sums[v][r] = multiply_add(sums[v][r], token, query[v]);
            }
        }
    }
}

template <int Width, int Vectors, int Rows>
inline void update_largest(const int8_t* group, const uint8_t* rows, int64_t chunks, Prefetcher& prefetcher,
                           __m512i (&largest)[Vectors]) {
    constexpr int kParts = 16 / Width;
    Sums sums[Vectors][Rows];
    multiply_block<Width>(group, rows, chunks, prefetcher, sums);
    for (int v = 0; v < Vectors; ++v) {
        for (int r = 0; r < Rows; r += kParts) {
            largest[v] = _mm512_max_epi32(largest[v], fold_parts<kParts>(sums[v] + r));
        }
    }
}

// The maxima of the first `count` rows of a block, Rows at a time. If at most half of Rows are left, they take a
// narrower step, as long as that fills a vector.
template <int Width, int Vectors, int Rows>
inline void block_maxima(const int8_t* group, const uint8_t* rows, int64_t count, int64_t chunks,
                         Prefetcher& prefetcher, __m512i (&largest)[Vectors]) {
    constexpr int kHalf = Rows / 2;
    constexpr bool kHalves = kHalf >= 4 && kHalf >= 16 / Width;
    for (; count > (kHalves ? kHalf : 0); count -= Rows, rows += Rows * kVector) {
        update_largest<Width, Vectors, Rows>(group, rows, chunks, prefetcher, largest);
    }
    if constexpr (kHalves) {
        if (count > 0) block_maxima<Width, Vectors, kHalf>(group, rows, count, chunks, prefetcher, largest);
    }
}

template <int Width, int Vectors>
void blocks_maxima(const int8_t* group, const uint8_t* blocks, int64_t rows, int64_t chunks, int64_t tokens,
                   Prefetcher& prefetcher, int32_t* best) {
    __m512i largest[Vectors];
    for (int v = 0; v < Vectors; ++v) largest[v] = _mm512_set1_epi32(INT32_MIN);
    for (; rows > 0; rows -= kRows, blocks += kRows * kVector * chunks) {
        block_maxima<Width, Vectors, 16 / Vectors>(group, blocks, rows < kRows ? rows : kRows, chunks, prefetcher,
                                                   largest);
    }
    for (int v = 0; v < Vectors; ++v) update_best(best + v * 16, largest_of_rows<Width>(largest[v]), tokens - v * 16);
}

void maxima(const int8_t* packed, int64_t tokens, int64_t stride, const CodeSpan* spans, int64_t count, int32_t* best,
            int8_t* scratch) {
    if (is_narrow(tokens)) return avxvnni_maxima(packed, tokens, stride, spans, count, best, scratch);
    auto* blocks = reinterpret_cast<uint8_t*>(scratch);
    const int64_t chunks = whole_vectors(stride) / kVector, block_bytes = kRows * kVector * chunks;
    const int64_t at_once = tokens > 32 && kResident > block_bytes ? kResident / block_bytes * kRows : kRows;
    Prefetcher prefetcher(spans, count, stride);
    for (int64_t s = 0; s < count; ++s, best += tokens) {
        for (int64_t j = 0; j < spans[s].rows; j += at_once) {
            const int64_t rows = spans[s].rows - j < at_once ? spans[s].rows - j : at_once;
            for (int64_t r = 0; r < rows; r += kRows) {
                const int64_t real = rows - r < kRows ? rows - r : kRows;
                bias_block(spans[s].codes + (j + r) * stride, real, stride, blocks + r / kRows * block_bytes);
            }
            prefetcher.begin(rows * stride);
            const int8_t* at = packed;
            for (int64_t t = 0; t < tokens;) {
                const Group group(tokens - t);
                switch (group.width * group.vectors) {
                    case 32:
                        blocks_maxima<16, 2>(at, blocks, rows, chunks, group.tokens, prefetcher, best + t);
                        break;
                    case 16:
                        blocks_maxima<16, 1>(at, blocks, rows, chunks, group.tokens, prefetcher, best + t);
                        break;
                    case 8:
                        blocks_maxima<8, 1>(at, blocks, rows, chunks, group.tokens, prefetcher, best + t);
                        break;
                    case 4:
                        blocks_maxima<4, 1>(at, blocks, rows, chunks, group.tokens, prefetcher, best + t);
                        break;
                    case 2:
                        blocks_maxima<2, 1>(at, blocks, rows, chunks, group.tokens, prefetcher, best + t);
                        break;
                    default:
                        blocks_maxima<1, 1>(at, blocks, rows, chunks, group.tokens, prefetcher, best + t);
                        break;
                }
                at += group.bytes(stride);
                t += group.tokens;
            }
        }
    }
}

// All dot products of the `real` first rows of a block and one group of 16 * Vectors query tokens.
template <int Vectors>
void store_dots(const int8_t* group, const uint8_t* block, int64_t real, int64_t chunks, Prefetcher& nothing,
                int64_t tokens, int32_t* out) {
    constexpr int kTogether = 16 / Vectors;
    for (int64_t first = 0; first < real; first += kTogether) {
        Sums sums[Vectors][kTogether];
        multiply_block<16>(group, block + first * kVector, chunks, nothing, sums);
        for (int64_t r = 0; r < kTogether && first + r < real; ++r) {
            for (int v = 0; v < Vectors; ++v) {
                _mm512_storeu_si512(out + (first + r) * tokens + v * 16, __m512i(sums[v][r]));
            }
        }
    }
}

void dots(const int8_t* packed, int64_t tokens, int64_t stride, const int8_t* rows, int64_t count, int32_t* out,
          int8_t* scratch) {
    auto* block = reinterpret_cast<uint8_t*>(scratch);
    const int64_t chunks = whole_vectors(stride) / kVector;
    Prefetcher nothing(nullptr, 0, stride, 0);
    for (int64_t j = 0; j < count; j += kRows, out += kRows * tokens) {
        const int64_t real = count - j < kRows ? count - j : kRows;
        bias_block(rows + j * stride, real, stride, block);
        const int8_t* at = packed;
        for (int64_t t = 0; t < tokens;) {
            const Group group(tokens - t);
            (group.vectors == 2 ? store_dots<2> : store_dots<1>)(at, block, real, chunks, nothing, tokens, out + t);
            at += group.bytes(stride);
            t += group.tokens;
        }
    }
}

constexpr Kernel kernel_with(decltype(Kernel::residual_maxima) residual_maxima) {
    return {
        .name = "avx512vnni",
        .cells = generic_cells<Avx512>,
        .packed_bytes = packed_bytes,
        .pack = pack,
        .maxima = maxima,
        .dots = dots,
        .row_dots = avx512_row_dots,
        .add_cells = generic_add_cells,
        .group_largest = generic_group_largest,
        .first_largest = generic_first_largest,
        .to_bytes = generic_to_bytes,
        .lookup = generic_lookup,
        .weighted_sums = generic_weighted_sums,
        .quantise = generic_quantise,
        .all_valid = generic_all_valid,
        .widen = avx512_widen,
        .scale_codes = generic_scale_codes,
        .residual_maxima = residual_maxima,
        .to_entries = generic_to_entries,
        .sign_tables = generic_sign_tables,
        .decode_residual = generic_decode_residual,
    };
}

}  // namespace

constinit const Kernel kAvx512vbmi = kernel_with(generic_residual_maxima<dots, PermutedSignSums>);
constinit const Kernel kAvx512vnni = kernel_with(generic_residual_maxima<dots>);

}  // namespace maxsieve
