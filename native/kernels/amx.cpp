// AMX int8, with AVX-512 for the rest. Only this file is compiled for AMX: see avx512vnni.cpp for what it may include.
//
// tdpbssd multiplies a tile A of signed bytes by a tile B, and adds to a tile C of int32. The rows of A are document
// tokens, as they are in memory. The columns of B and C are query tokens:
//
//   A [16 document tokens][64 bytes of k]   B [k/4][16 query tokens][4 bytes of k]   C [16][16]
//
// Packed query codes: B tiles, [16 tokens][k/64]. Rows of codes are multiples of 32 bytes. If 64 does not divide them,
// the last A tile starts 32 bytes earlier, at bytes that the tile before has too, and B is zero there. Rows of 32 bytes
// have tiles of half the depth. Nothing outside a document is read: its last sixteen rows are always one tile, which
// may overlap the tile before. A document of fewer rows is copied, and its last row is repeated. Neither changes a
// maximum.
//
// Tiles, if a row has at most 128 bytes: C 0-1, A 2-3, B 4-7. All of B for 32 query tokens stays loaded, and each A is
// loaded once for them. Longer rows: C 0-3 (2 x 16 document by 2 x 16 query tokens), A 4-5, B 6-7, so that four loads
// serve four products. Query tokens are processed 32 at a time, over a piece of the document that stays in L1.
//
// A C tile can't be compared in place. It is stored, and its rows are compared one step later, while the next products
// run. Reading them at once would wait for the last product and for the store after it.
//
// Tile state belongs to the thread. It is configured and released within a call, so that a thread switch has no tiles
// to save afterwards.
//
// Overflow: |<y, c>| <= 127^2 * 4096 < 2^27.

#include "compiler.hpp"
#include "kernels/generic/add_cells.hpp"
#include "kernels/generic/group_largest.hpp"
#include "kernels/generic/lookup.hpp"
#include "kernels/generic/prefetch.hpp"
#include "kernels/generic/quantise.hpp"
#include "kernels/generic/residual.hpp"
#include "kernels/generic/sign_tables.hpp"
#include "kernels/generic/similarities.hpp"
#include "kernels/generic/weighted_sums.hpp"
#include "kernels/x86/amx_tiles.hpp"
#include "kernels/x86/avx512.hpp"
#include "kernels/x86/avx512_row_dots.hpp"
#include "kernels/x86/permuted_sign_sums.hpp"

namespace maxsieve {
namespace {

// Bytes of a document that stay in L1 if the query has more than 32 tokens: a third of L1.
constexpr int64_t kPieceBytes = 16384;

size_t packed_bytes(int64_t tokens, int64_t stride) {
    return static_cast<size_t>((tokens + kTile - 1) / kTile * tiles_of(stride) * tile_bytes(stride));
}

void pack(const int8_t* codes, int64_t tokens, int64_t stride, int8_t* packed) {
    const int64_t depth = tile_depth(stride);
    std::memset(packed, 0, packed_bytes(tokens, stride));
    for (int64_t first = 0; first < tokens; first += kTile) {
        for (int64_t tile = 0; tile < tiles_of(stride); ++tile, packed += tile_bytes(stride)) {
            const int64_t offset = tile_offset(tile, stride);
            for (int64_t k = tile * kMostDepth - offset; k < depth; k += 4) {
                for (int64_t t = 0; t < kTile && first + t < tokens; ++t) {
                    std::memcpy(packed + (k / 4 * kTile + t) * 4, codes + (first + t) * stride + offset + k, 4);
                }
            }
        }
    }
}

// The sums of the last two steps. One is stored while the other is compared.
class DelayedMaxima {
  public:
    static constexpr size_t kBytes = 2 * kPair * kPair * sizeof(int32_t);

    explicit DelayedMaxima(int32_t* sums) : sums_{sums, sums + kPair * kPair} {}

    // The buffer where a step stores its tiles: [2 x 16 query tokens][2 x 16 document tokens][16].
    int32_t* buffer() { return sums_[turn_]; }

    // Call it when buffer() has the sums of `rows` document tokens and `tokens` query tokens. Their maxima go to
    // `best`.
    void filled(int64_t rows, int64_t tokens, int32_t* best) {
        const Step before = pending_;
        pending_ = {rows, tokens, best};
        turn_ ^= 1;
        compare(before);
    }

    void finish() { filled(0, 0, nullptr); }

  private:
    struct Step {
        int64_t rows, tokens;
        int32_t* best;
    };

    void compare(const Step& step) const {
        for (int64_t t = 0; t < step.tokens; t += kTile) {
            const int32_t* sums = sums_[turn_] + t * kPair;
            __m512i largest = _mm512_loadu_si512(sums);
            for (int64_t first = 0; first < step.rows; first += kTile, sums += kTile * kTile) {
                for (int64_t r = 0; r < kTile; ++r) {
                    largest = _mm512_max_epi32(largest, _mm512_loadu_si512(sums + r * kTile));
                }
            }
            update_best(step.best + t, largest, step.tokens - t);
        }
    }

    int32_t* sums_[2];
    int turn_ = 0;
    Step pending_ = {0, 0, nullptr};
};

// Document tokens against 16 * Columns query tokens, of which `tokens` are real. If `packed` is null, the query's tiles
// are loaded already. If the span ends within a tile, the tile starts earlier, and may start before the span. That is
// safe, because there are at least 16 document tokens before the end of the span.
template <int Tiles, int Columns>
void sweep_short(const CodeSpan& span, int64_t stride, const int8_t* packed, int64_t tokens, DelayedMaxima& delayed,
                 Prefetcher& prefetcher, int32_t* best) {
    if (packed != nullptr) load_query<Tiles, Columns>(packed, tile_bytes(stride));
    for (int64_t j = 0; j < span.rows; j += kTile) {
        const int64_t first = j + kTile < span.rows ? j : span.rows - kTile;
        step_short<Tiles, Columns>(span.codes + first * stride, stride, delayed.buffer());
        prefetcher.advance(kTile * stride);
        delayed.filled(kTile, tokens, best);
    }
}

template <int Columns>
void sweep_long(const CodeSpan& span, int64_t stride, const int8_t* packed, int64_t tokens, DelayedMaxima& delayed,
                Prefetcher& prefetcher, int32_t* best) {
    const int8_t* last = span.codes + (span.rows - kTile) * stride;
    int64_t j = 0;
    for (; j + kTile < span.rows; j += 2 * kTile) {
        const int8_t* rows = span.codes + j * stride;
        const int8_t* more = j + 2 * kTile < span.rows ? rows + kTile * stride : last;
        step_long<2, Columns>(rows, more, stride, packed, prefetcher, delayed.buffer());
        delayed.filled(2 * kTile, tokens, best);
    }
    if (j < span.rows) {
        step_long<1, Columns>(last, nullptr, stride, packed, prefetcher, delayed.buffer());
        delayed.filled(kTile, tokens, best);
    }
}

// A span of fewer than 16 rows, filled up to 16 by repeating the last row.
inline CodeSpan repeated(const CodeSpan& span, int64_t stride, int8_t* copy) {
    for (int64_t r = 0; r < kTile; ++r) {
        const int64_t from = r < span.rows ? r : span.rows - 1;
        std::memcpy(copy + r * stride, span.codes + from * stride, static_cast<size_t>(stride));
    }
    MAXSIEVE_MEMORY_BARRIER();  // the intrinsics don't tell the compiler that tiles are loaded from memory
    return {copy, kTile};
}

using Sweep = void (*)(const CodeSpan& span, int64_t stride, const int8_t* packed, int64_t tokens,
                       DelayedMaxima& delayed, Prefetcher& prefetcher, int32_t* best);

inline Sweep sweep_for(int64_t tiles, int64_t columns) {
    if (tiles == 1) return columns == 1 ? sweep_short<1, 1> : sweep_short<1, 2>;
    if (tiles == 2) return columns == 1 ? sweep_short<2, 1> : sweep_short<2, 2>;
    return columns == 1 ? sweep_long<1> : sweep_long<2>;
}

// The scratch memory has the sums, then room for a document of fewer than 16 tokens.
void maxima(const int8_t* packed, int64_t tokens, int64_t stride, const CodeSpan* spans, int64_t count, int32_t* best,
            int8_t* scratch) {
    static_assert(scratch_bytes(kMaxStride) >= DelayedMaxima::kBytes + kTile * kMaxStride);
    DelayedMaxima delayed(reinterpret_cast<int32_t*>(scratch));
    int8_t* copy = scratch + DelayedMaxima::kBytes;
    Prefetcher prefetcher(spans, count, stride);
    const int64_t pair_bytes = 2 * tiles_of(stride) * tile_bytes(stride);
    const int64_t resident = kPieceBytes / stride / kPair * kPair;
    const Sweep one = sweep_for(tiles_of(stride), 1), two = sweep_for(tiles_of(stride), 2);
    int64_t loaded = -1;  // the first query token in tiles 4-7
    _tile_loadconfig(stride < kMostDepth ? &kShallow : &kDeep);
    for (int64_t s = 0; s < count; ++s, best += tokens) {
        if (spans[s].rows == 0) continue;
        const CodeSpan whole = spans[s].rows < kTile ? repeated(spans[s], stride, copy) : spans[s];
        const int64_t piece = tokens <= kPair ? whole.rows : resident > kPair ? resident : kPair;
        prefetcher.begin(spans[s].rows * stride);
        for (int64_t j = 0; j < whole.rows; j += piece) {
            const CodeSpan part{whole.codes + j * stride, whole.rows - j < piece ? whole.rows - j : piece};
            for (int64_t t = 0; t < tokens; t += kPair) {
                const int64_t left = tokens - t < kPair ? tokens - t : kPair;
                const int8_t* query = t == loaded ? nullptr : packed + t / kPair * pair_bytes;
                (left > kTile ? two : one)(part, stride, query, left, delayed, prefetcher, best + t);
                if (tiles_of(stride) <= 2) loaded = t;
            }
        }
    }
    delayed.finish();
    _tile_release();
}

// Computes the dot products of 16 document tokens and 16 * Columns query tokens.
template <int Columns>
void store_dots(const int8_t* rows, int64_t stride, const int8_t* packed, Prefetcher& nothing, int32_t* sums) {
    if (tiles_of(stride) == 1) {
        load_query<1, Columns>(packed, tile_bytes(stride));
        step_short<1, Columns>(rows, stride, sums);
    } else if (tiles_of(stride) == 2) {
        load_query<2, Columns>(packed, tile_bytes(stride));
        step_short<2, Columns>(rows, stride, sums);
    } else {
        step_long<1, Columns>(rows, nullptr, stride, packed, nothing, sums);
    }
}

// The scratch memory has the sums of a step, then room for fewer than 16 rows.
void dots(const int8_t* packed, int64_t tokens, int64_t stride, const int8_t* rows, int64_t count, int32_t* out,
          int8_t* scratch) {
    auto* sums = reinterpret_cast<int32_t*>(scratch);
    const int64_t tokens_bytes = tiles_of(stride) * tile_bytes(stride);
    Prefetcher nothing(nullptr, 0, stride, 0);
    _tile_loadconfig(stride < kMostDepth ? &kShallow : &kDeep);
    for (int64_t j = 0; j < count; j += kTile, out += kTile * tokens) {
        const int64_t real = count - j < kTile ? count - j : kTile;
        const int8_t* from = rows + j * stride;
        if (real < kTile) from = repeated({from, real}, stride, scratch + DelayedMaxima::kBytes).codes;
        for (int64_t t = 0; t < tokens; t += kPair) {
            const int64_t columns = tokens - t < kPair ? 1 : 2;
            const int8_t* query = packed + t / kTile * tokens_bytes;
            (columns == 2 ? store_dots<2> : store_dots<1>)(from, stride, query, nothing, sums);
            MAXSIEVE_MEMORY_BARRIER();  // the intrinsics don't tell the compiler that tiles are stored to memory
            for (int64_t c = 0; c < columns; ++c) {
                for (int64_t r = 0; r < real; ++r) {
                    std::memcpy(out + r * tokens + t + c * kTile, sums + c * kNextTokens + r * kTile,
                                kTile * sizeof *out);
                }
            }
        }
    }
    _tile_release();
}

}  // namespace

const Kernel kAmx{
    .name = "amx",
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
    .residual_maxima = generic_residual_maxima<dots, PermutedSignSums>,
    .to_entries = generic_to_entries,
    .sign_tables = generic_sign_tables,
    .decode_residual = generic_decode_residual,
};

}  // namespace maxsieve
