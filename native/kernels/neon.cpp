// NEON without optional features. Packed query codes are the codes themselves. neon.hpp explains the blocks of
// registers.
//
// A product is smull and smlal2: the first eight bytes, then the last eight added to the same int16 lanes. Codes are
// within +-127, so that a lane is at most 2 * 127^2 = 32,258 < 2^15; a third product could overflow int16. sadalp adds
// pairs of lanes to int32, where |sum| <= 127^2 * 4096 < 2^27.

#include "kernels/neon.hpp"

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

namespace maxsieve {
namespace {

struct Widening {
    static int32x4_t add(int32x4_t sums, int8x16_t a, int8x16_t b) {
        const int16x8_t products = vmull_s8(vget_low_s8(a), vget_low_s8(b));
        return vpadalq_s16(sums, vmlal_high_s8(products, a, b));
    }
};

void pack(const int8_t* codes, int64_t tokens, int64_t stride, int8_t* packed) {
    std::memcpy(packed, codes, packed_bytes(tokens, stride));
}

void maxima(const int8_t* packed, int64_t tokens, int64_t stride, const CodeSpan* spans, int64_t count, int32_t* best,
            int8_t*) {
    for (int64_t s = 0; s < count; ++s, best += tokens) row_maxima<Widening>(packed, tokens, stride, spans[s], best);
}

}  // namespace

const Kernel kNeon{
    .name = "neon",
    .cells = generic_cells<Neon>,
    .packed_bytes = packed_bytes,
    .pack = pack,
    .maxima = maxima,
    .dots = dots<Widening>,
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
    .residual_maxima = generic_residual_maxima<dots<Widening>>,
    .to_entries = generic_to_entries,
    .sign_tables = generic_sign_tables,
    .decode_residual = generic_decode_residual,
};

}  // namespace maxsieve
