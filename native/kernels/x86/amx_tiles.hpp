// The tiles that amx.cpp explains: their shapes, and the products of one step. Tiles are named by literals, because
// some compilers paste the name into assembly.
#pragma once

#include <immintrin.h>

#include "kernels/generic/prefetch.hpp"

namespace maxsieve {
namespace {

constexpr int64_t kTile = 16;         // document tokens in a tile, and query tokens
constexpr int64_t kMostDepth = 64;    // bytes of k in a tile
constexpr int64_t kPair = 2 * kTile;  // query tokens at a time

// Bytes of k in a tile for rows of this size, and the number of tiles in a row.
constexpr int64_t tile_depth(int64_t stride) {
    return stride < kMostDepth ? stride : kMostDepth;
}
constexpr int64_t tiles_of(int64_t stride) {
    return (stride + kMostDepth - 1) / kMostDepth;
}
constexpr int64_t tile_bytes(int64_t stride) {
    return kTile * tile_depth(stride);
}
// The byte of a row where a tile begins.
constexpr int64_t tile_offset(int64_t tile, int64_t stride) {
    const int64_t last = stride - tile_depth(stride);
    return tile * kMostDepth < last ? tile * kMostDepth : last;
}

// The operand of ldtilecfg.
struct alignas(64) TileConfiguration {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {};
    uint8_t rows[16] = {};
};

constexpr TileConfiguration configuration(int depth) {
    TileConfiguration tiles;
    for (int tile = 0; tile < 8; ++tile) {
        tiles.row_bytes[tile] = static_cast<uint16_t>(tile == 2 || tile == 3 ? depth : 64);
        tiles.rows[tile] = static_cast<uint8_t>(tile >= 4 ? depth / 4 : 16);
    }
    return tiles;
}
// Constants in memory, because the intrinsic does not tell the compiler that it reads all 64 bytes.
constexpr TileConfiguration kDeep = configuration(64), kShallow = configuration(32);

constexpr int64_t kRowBytes = 64;               // of B and C
constexpr int64_t kNextRows = kTile * kTile;    // in buffer(): from a tile to the one of the next 16 document tokens
constexpr int64_t kNextTokens = kPair * kTile;  // and to the one of the next 16 query tokens

// Loads the query's tiles if a row of codes takes Tiles <= 2. They follow one another as they were packed.
template <int Tiles, int Columns>
inline void load_query(const int8_t* packed, int64_t bytes) {
    _tile_loadd(4, packed, kRowBytes);
    if constexpr (Tiles == 2) _tile_loadd(6, packed + bytes, kRowBytes);
    if constexpr (Columns == 2) {
        _tile_loadd(5, packed + Tiles * bytes, kRowBytes);
        if constexpr (Tiles == 2) _tile_loadd(7, packed + 3 * bytes, kRowBytes);
    }
}

// Multiplies 16 document tokens by the 16 or 32 query tokens in tiles 4-7.
template <int Tiles, int Columns>
inline void step_short(const int8_t* rows, int64_t stride, int32_t* sums) {
    _tile_zero(0);
    if constexpr (Columns == 2) _tile_zero(1);
    _tile_loadd(2, rows, stride);
    if constexpr (Tiles == 2) _tile_loadd(3, rows + tile_offset(1, stride), stride);
    _tile_dpbssd(0, 2, 4);
    if constexpr (Columns == 2) _tile_dpbssd(1, 2, 5);
    if constexpr (Tiles == 2) {
        _tile_dpbssd(0, 3, 6);
        if constexpr (Columns == 2) _tile_dpbssd(1, 3, 7);
    }
    _tile_stored(0, sums, kRowBytes);
    if constexpr (Columns == 2) _tile_stored(1, sums + kNextTokens, kRowBytes);
}

// Multiplies 16 or 32 document tokens (the second 16 start at `more`) by 16 or 32 query tokens, for rows of any size.
template <int Rows, int Columns>
inline void step_long(const int8_t* rows, const int8_t* more, int64_t stride, const int8_t* packed,
                      Prefetcher& prefetcher, int32_t* sums) {
    const int64_t tiles = tiles_of(stride), next_tokens = tiles * tile_bytes(stride);
    _tile_zero(0);
    if constexpr (Columns == 2) _tile_zero(1);
    if constexpr (Rows == 2) _tile_zero(2);
    if constexpr (Rows == 2 && Columns == 2) _tile_zero(3);
    for (int64_t tile = 0; tile < tiles; ++tile, packed += tile_bytes(stride)) {
        const int64_t offset = tile_offset(tile, stride);
        prefetcher.advance(Rows * tile_bytes(stride));
        _tile_loadd(4, rows + offset, stride);
        _tile_loadd(6, packed, kRowBytes);
        _tile_dpbssd(0, 4, 6);
        if constexpr (Columns == 2) {
            _tile_loadd(7, packed + next_tokens, kRowBytes);
            _tile_dpbssd(1, 4, 7);
        }
        if constexpr (Rows == 2) {
            _tile_loadd(5, more + offset, stride);
            _tile_dpbssd(2, 5, 6);
            if constexpr (Columns == 2) _tile_dpbssd(3, 5, 7);
        }
    }
    _tile_stored(0, sums, kRowBytes);
    if constexpr (Columns == 2) _tile_stored(1, sums + kNextTokens, kRowBytes);
    if constexpr (Rows == 2) _tile_stored(2, sums + kNextRows, kRowBytes);
    if constexpr (Rows == 2 && Columns == 2) _tile_stored(3, sums + kNextTokens + kNextRows, kRowBytes);
}

}  // namespace
}  // namespace maxsieve
