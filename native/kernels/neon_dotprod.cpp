// NEON with `sdot`: adds four products of bytes to each int32 lane, where |sum| <= 127^2 * 4096 < 2^27. Only this file
// is compiled for it. It must not instantiate inline functions with external linkage (from the standard library only
// memcpy is allowed): otherwise the linker could use their code on an older CPU.
//
// Packed query codes: groups of four tokens, where a vector has four bytes of each; the last T % 4 tokens unchanged,
// row by row.
//
//   [k/4] t0 k..k+3 | t1 k..k+3 | t2 k..k+3 | t3 k..k+3
//
// sdot takes one operand by element: sixteen bytes of a document token are loaded once and multiplied by four such
// vectors, whose lanes are query tokens. So sums need no pairwise additions, which are a tenth of the work at d = 128
// in neon.hpp, where the last T % 4 tokens are handled. Rows x Fours sums: 4 x 4, 4 x 3, 8 x 2 or 8 x 1; at most 16
// registers, with 8 of document tokens, 4 of running maxima and one or two of query tokens.

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
#include "kernels/neon.hpp"

namespace maxsieve {
namespace {

struct DotProduct {
    static int32x4_t add(int32x4_t sums, int8x16_t a, int8x16_t b) { return vdotq_s32(sums, a, b); }
};

void pack(const int8_t* codes, int64_t tokens, int64_t stride, int8_t* packed) {
    constexpr int64_t kPiece = 4;
    const int64_t in_fours = tokens / 4 * 4;
    for (int64_t t = 0; t < in_fours; t += 4) {
        for (int64_t k = 0; k < stride; k += kPiece) {
            for (int64_t i = t; i < t + 4; ++i, packed += kPiece) std::memcpy(packed, codes + i * stride + k, kPiece);
        }
    }
    std::memcpy(packed, codes + in_fours * stride, packed_bytes(tokens - in_fours, stride));
}

// Multiplies bytes 4 * Lane .. 4 * Lane + 3 of the document tokens by all query tokens. The vectors of two neighbouring
// groups of four are 4 * stride bytes apart.
template <int Lane, int Fours, int Rows>
inline void add_lane(const int8_t* packed, int64_t stride, const int8x16_t (&token)[Rows],
                     int32x4_t (&sums)[Fours][Rows]) {
    for (int f = 0; f < Fours; ++f) {
        const int8x16_t codes = vld1q_s8(packed + f * 4 * stride + Lane * kVector);
        for (int r = 0; r < Rows; ++r) sums[f][r] = vdotq_laneq_s32(sums[f][r], codes, token[r], Lane);
    }
}

// The dot products of Rows document tokens and 4 * Fours query tokens, with a lane for each query token.
template <int Fours, int Rows>
inline void multiply_fours(const int8_t* packed, int64_t stride, const int8_t* rows, int32x4_t (&sums)[Fours][Rows]) {
    for (int f = 0; f < Fours; ++f) {
        for (int r = 0; r < Rows; ++r) sums[f][r] = vdupq_n_s32(0);
    }
    for (int64_t k = 0; k < stride; k += kVector, packed += 4 * kVector) {
        int8x16_t token[Rows];
        for (int r = 0; r < Rows; ++r) token[r] = vld1q_s8(rows + r * stride + k);
        add_lane<0>(packed, stride, token, sums);
        add_lane<1>(packed, stride, token, sums);
        add_lane<2>(packed, stride, token, sums);
        add_lane<3>(packed, stride, token, sums);
    }
}

template <int Fours, int Together>
void maxima_of_fours(const int8_t* packed, int64_t stride, const CodeSpan& span, int32_t* best) {
    int32x4_t largest[Fours];
    for (int f = 0; f < Fours; ++f) largest[f] = vld1q_s32(best + 4 * f);
    for_each_row_block<Together>(0, span.rows, [&]<int Rows>(int64_t row) {
        int32x4_t sums[Fours][Rows];
        multiply_fours(packed, stride, span.codes + row * stride, sums);
        for (int f = 0; f < Fours; ++f) {
            for (int r = 0; r < Rows; ++r) largest[f] = vmaxq_s32(largest[f], sums[f][r]);
        }
    });
    for (int f = 0; f < Fours; ++f) vst1q_s32(best + 4 * f, largest[f]);
}

void span_maxima(const int8_t* packed, int64_t tokens, int64_t stride, const CodeSpan& span, int32_t* best) {
    int64_t t = 0;
    for (; t + 16 <= tokens; t += 16) maxima_of_fours<4, 4>(packed + t * stride, stride, span, best + t);
    const int64_t fours = (tokens - t) / 4;
    switch (fours) {
        case 3:
            maxima_of_fours<3, 4>(packed + t * stride, stride, span, best + t);
            break;
        case 2:
            maxima_of_fours<2, 8>(packed + t * stride, stride, span, best + t);
            break;
        case 1:
            maxima_of_fours<1, 8>(packed + t * stride, stride, span, best + t);
            break;
        default:
            break;
    }
    t += 4 * fours;
    row_maxima<DotProduct>(packed + t * stride, tokens - t, stride, span, best + t);
}

void maxima(const int8_t* packed, int64_t tokens, int64_t stride, const CodeSpan* spans, int64_t count, int32_t* best,
            int8_t*) {
    for (int64_t s = 0; s < count; ++s, best += tokens) span_maxima(packed, tokens, stride, spans[s], best);
}

void dots(const int8_t* packed, int64_t tokens, int64_t stride, const int8_t* rows, int64_t count, int32_t* out,
          int8_t*) {
    for (int64_t t = 0; t < tokens; t += kPanel) {
        for_each_row_block<4>(0, count, [&]<int Rows>(int64_t row) {
            int32x4_t sums[4][Rows];
            multiply_fours(packed + t * stride, stride, rows + row * stride, sums);
            for (int f = 0; f < 4; ++f) {
                for (int r = 0; r < Rows; ++r) vst1q_s32(out + (row + r) * tokens + t + 4 * f, sums[f][r]);
            }
        });
    }
}

}  // namespace

const Kernel kNeonDotprod{
    .name = "neon",
    .cells = generic_cells<Neon>,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .maxima = maxima,
    .dots = dots,
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
    .residual_maxima = generic_residual_maxima<dots>,
    .to_entries = generic_to_entries,
    .sign_tables = generic_sign_tables,
    .decode_residual = generic_decode_residual,
};

}  // namespace maxsieve
