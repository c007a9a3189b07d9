// AMX-TILE and AMX-INT8 in plain C++, after Intel's Software Developer's Manual (volume 1 chapter 18, volume 2:
// LDTILECFG, TILELOADD, TILESTORED, TILEZERO, TDPBSSD, TILERELEASE). What raises #GP or #UD there ends the process
// here. So does reading a tile that was never written, which hardware allows.
//
// Each thread has its own state, as in hardware. A thread must not end with tiles configured.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace emulated_amx {

constexpr int kTiles = 8, kMostRows = 16, kMostRowBytes = 64;

[[noreturn]] inline void refuse(const char* why) {
    std::fprintf(stderr, "emulated AMX: %s\n", why);
    std::abort();
}

inline void require(bool condition, const char* otherwise) {
    if (!condition) refuse(otherwise);
}

struct Tile {
    int rows = 0, row_bytes = 0;
    bool filled = false;
    alignas(64) uint8_t bytes[kMostRows][kMostRowBytes];

    int32_t number(int row, int column) const {
        int32_t x;
        std::memcpy(&x, bytes[row] + 4 * column, 4);
        return x;
    }
    void set_number(int row, int column, int32_t x) { std::memcpy(bytes[row] + 4 * column, &x, 4); }
};

class Tiles {
  public:
    ~Tiles() {
        if (configured_) refuse("a thread ends with tiles configured");
    }

    void configure(const void* memory) {
        uint8_t operand[64];
        std::memcpy(operand, memory, sizeof operand);
        require(operand[0] == 1, "ldtilecfg: only palette 1 is meant to be used");
        require(operand[1] == 0, "ldtilecfg: start_row without an interrupted load");
        for (int i = 2; i < 16; ++i) require(operand[i] == 0, "ldtilecfg: a reserved byte is not zero");
        for (int t = 0; t < 16; ++t) {
            const int row_bytes = operand[16 + 2 * t] | operand[17 + 2 * t] << 8, rows = operand[48 + t];
            if (t >= kTiles) {
                require(row_bytes == 0 && rows == 0, "ldtilecfg: there are only eight tiles");
                continue;
            }
            require(row_bytes <= kMostRowBytes && rows <= kMostRows, "ldtilecfg: a tile is too large");
            require((row_bytes == 0) == (rows == 0), "ldtilecfg: rows without columns or columns without rows");
            tiles_[t].rows = rows;
            tiles_[t].row_bytes = row_bytes;
            clear(tiles_[t]);
            tiles_[t].filled = false;
        }
        configured_ = true;
    }

    void release() { configured_ = false; }

    void zero(int number) {
        Tile& tile = shaped(number);
        clear(tile);
        tile.filled = true;
    }

    void load(int number, const void* from, int64_t stride) {
        Tile& tile = shaped(number);
        clear(tile);
        for (int row = 0; row < tile.rows; ++row) {
            const auto* memory = static_cast<const uint8_t*>(from) + row * stride;
            std::memcpy(tile.bytes[row], memory, static_cast<size_t>(tile.row_bytes));
        }
        tile.filled = true;
    }

    void store(int number, void* to, int64_t stride) {
        const Tile& tile = full(number);
        for (int row = 0; row < tile.rows; ++row) {
            std::memcpy(static_cast<uint8_t*>(to) + row * stride, tile.bytes[row], static_cast<size_t>(tile.row_bytes));
        }
    }

    void multiply_signed(int sums, int left, int right) {
        require(sums != left && sums != right && left != right, "tdpbssd: the three tiles must differ");
        full(sums);
        Tile& c = tiles_[sums];
        const Tile &a = full(left), &b = full(right);
        require(c.row_bytes % 4 == 0 && a.row_bytes % 4 == 0 && b.row_bytes % 4 == 0, "tdpbssd: columns of 4 bytes");
        require(a.rows == c.rows, "tdpbssd: A and C differ in rows");
        require(b.row_bytes == c.row_bytes, "tdpbssd: B and C differ in columns");
        require(a.row_bytes / 4 == b.rows, "tdpbssd: A's columns are not B's rows");
        for (int m = 0; m < c.rows; ++m) {
            for (int k = 0; k < b.rows; ++k) {
                for (int n = 0; n < c.row_bytes / 4; ++n) {
                    int32_t sum = 0;
                    for (int i = 0; i < 4; ++i) {
                        sum += static_cast<int8_t>(a.bytes[m][4 * k + i]) * static_cast<int8_t>(b.bytes[k][4 * n + i]);
                    }
                    const uint32_t before = static_cast<uint32_t>(c.number(m, n));
                    c.set_number(m, n, static_cast<int32_t>(before + static_cast<uint32_t>(sum)));
                }
            }
        }
    }

  private:
    static void clear(Tile& tile) { std::memset(tile.bytes, 0, sizeof tile.bytes); }

    Tile& shaped(int number) {
        require(configured_, "a tile is used without a configuration");
        require(number >= 0 && number < kTiles && tiles_[number].rows > 0, "a tile is used that has no shape");
        return tiles_[number];
    }
    Tile& full(int number) {
        Tile& tile = shaped(number);
        require(tile.filled, "a tile is read before anything was put into it");
        return tile;
    }

    bool configured_ = false;
    Tile tiles_[kTiles];
};

inline thread_local Tiles tiles;

}  // namespace emulated_amx

#undef _tile_loadd
#undef _tile_stream_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbssd
#define _tile_loadconfig(memory) emulated_amx::tiles.configure(memory)
#define _tile_release() emulated_amx::tiles.release()
#define _tile_zero(tile) emulated_amx::tiles.zero(tile)
#define _tile_loadd(tile, from, stride) emulated_amx::tiles.load(tile, from, stride)
#define _tile_stream_loadd(tile, from, stride) emulated_amx::tiles.load(tile, from, stride)
#define _tile_stored(tile, to, stride) emulated_amx::tiles.store(tile, to, stride)
#define _tile_dpbssd(c, a, b) emulated_amx::tiles.multiply_signed(c, a, b)
