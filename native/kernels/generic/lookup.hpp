// The scan of tier 0, written once for all ISAs; spec/codebook.py is the definition.
//
// A row of the table has one byte for each of `Width` query tokens, 32 or 64. A document token costs one load of its
// centroid's row and one bytewise maximum, however many query tokens the strip has. Four chains of maxima run at the
// same time: the maxima of one chain wait for each other, loads do not.
//
// Ids are reduced by `mask`, so that a damaged file reads a wrong row of the table, but never other memory.
//
// Overflow: a strip adds at most 64 * 255 < 2^14.
#pragma once

#include <cstring>

#include "compiler.hpp"
#include "kernels/kernel.hpp"

namespace maxsieve {
namespace {

// 32 bytes: one register if the ISA has such registers, otherwise two of 16.
typedef uint8_t Bytes MAXSIEVE_VECTOR(32);
typedef uint16_t Words MAXSIEVE_VECTOR(64);

inline Bytes larger(Bytes a, Bytes b) {
    return a > b ? a : b;
}

inline int32_t sum_of_bytes(Bytes x) {
    const Words wide = MAXSIEVE_CONVERT(x, Words);
    int32_t sum = 0;
    for (int i = 0; i < 32; ++i) sum += wide[i];
    return sum;
}

template <int Width>
struct TableRow {
    static constexpr int kParts = Width / 32;
    Bytes part[kParts];

    void raise(const uint8_t* row) {
        for (int p = 0; p < kParts; ++p) {
            Bytes other;
            std::memcpy(&other, row + 32 * p, sizeof other);
            part[p] = larger(part[p], other);
        }
    }
    void raise(const TableRow& other) {
        for (int p = 0; p < kParts; ++p) part[p] = larger(part[p], other.part[p]);
    }
};

template <int Width>
inline int32_t lookup_document(const uint8_t* table, size_t mask, const uint16_t* ids, int64_t count) {
    TableRow<Width> largest[4] = {};
    int64_t j = 0;
    for (; j + 4 <= count; j += 4) {
        for (int r = 0; r < 4; ++r) largest[r].raise(table + (ids[j + r] & mask) * Width);
    }
    for (; j < count; ++j) largest[0].raise(table + (ids[j] & mask) * Width);
    largest[0].raise(largest[1]);
    largest[2].raise(largest[3]);
    largest[0].raise(largest[2]);
    int32_t sum = 0;
    for (const Bytes& part : largest[0].part) sum += sum_of_bytes(part);
    return sum;
}

inline void generic_lookup(const uint8_t* table, int64_t width, int64_t centroids, const CentroidSpan* spans,
                           int64_t count, int32_t* sums) {
    const auto mask = static_cast<size_t>(centroids - 1);
    for (int64_t s = 0; s < count; ++s) {
        sums[s] += width == 32 ? lookup_document<32>(table, mask, spans[s].ids, spans[s].tokens)
                               : lookup_document<64>(table, mask, spans[s].ids, spans[s].tokens);
    }
}

}  // namespace
}  // namespace maxsieve
