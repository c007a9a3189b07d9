// How query codes are packed for vectors of 32 bytes. A vector has `width` tokens side by side, 32 / width codes of
// each. So a piece of 32 / width codes of a document token, repeated, is multiplied by all of them at once:
//
//   width 8: [k / 4] t0 k..k+3 | t1 k..k+3 | ... | t7 k..k+3
//   width 4: [k / 8] t0 k..k+7 | t1 k..k+7 | t2 k..k+7 | t3 k..k+7        and so on for 2 and 1
//
// Tokens are packed in groups of eight; the rest in groups of four, two and one, so that a bandit's round of four
// tokens wastes no lane. A group begins with the vector that its int32 accumulators start from. Then come, for each
// piece, `kPlanes` vectors, which `Product` makes from the codes.
//
// Before all groups is a vector that has the number of codes up to the last that is not zero, for all tokens. Products
// end there: rows are padded with zeros to 32 bytes, of which 48 dimensions would waste a quarter.
#pragma once

#include <cstring>

#include "kernels/kernel.hpp"

namespace maxsieve {
namespace {

constexpr int64_t kVector = 32;

// The width of the next group, if `left` tokens remain. Seven tokens use a group of eight: after another group of
// eight, or from DRAM, that is faster than four, two and one.
inline int64_t next_width(int64_t left) {
    return left >= 7 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

template <class Product>
int64_t group_bytes(int64_t width, int64_t stride) {
    return kVector + Product::kPlanes * width * stride;
}

template <class Product>
size_t packed_bytes(int64_t tokens, int64_t stride) {
    int64_t bytes = kVector;
    for (int64_t t = 0; t < tokens; t += next_width(tokens - t)) {
        bytes += group_bytes<Product>(next_width(tokens - t), stride);
    }
    return static_cast<size_t>(bytes);
}

template <class Product, int64_t Width>
void pack_group(const int8_t* codes, int64_t tokens, int64_t stride, int8_t* packed) {
    constexpr int64_t kPiece = kVector / Width;
    for (int64_t w = 0; w < tokens; ++w, codes += stride, packed += kPiece) {
        int8_t* piece = packed + kVector;
        int32_t start = 0;
        for (int64_t k = 0; k < stride; k += kPiece, piece += Product::kPlanes * kVector) {
            for (int64_t i = 0; i < kPiece; ++i) {
                start += Product::start(codes[k + i]);
                Product::put(codes[k + i], piece + i);
            }
        }
        std::memcpy(packed, &start, sizeof start);
    }
}

// The number of codes that products need, rounded up to whole pieces of any width but one.
inline int64_t codes_used(const int8_t* packed) {
    int64_t used;
    std::memcpy(&used, packed, sizeof used);
    return used;
}

template <class Product>
void pack(const int8_t* codes, int64_t tokens, int64_t stride, int8_t* packed) {
    std::memset(packed, 0, packed_bytes<Product>(tokens, stride));
    int64_t used = 0;
    for (int64_t t = 0; t < tokens; ++t) {
        for (int64_t k = stride; k > used; --k) {
            if (codes[t * stride + k - 1] != 0) used = k;
        }
    }
    used = (used + 15) / 16 * 16;
    std::memcpy(packed, &used, sizeof used);
    packed += kVector;
    while (tokens > 0) {
        const int64_t width = next_width(tokens), taken = tokens < width ? tokens : width;
        switch (width) {
            case 8:
                pack_group<Product, 8>(codes, taken, stride, packed);
                break;
            case 4:
                pack_group<Product, 4>(codes, taken, stride, packed);
                break;
            case 2:
                pack_group<Product, 2>(codes, taken, stride, packed);
                break;
            default:
                pack_group<Product, 1>(codes, taken, stride, packed);
                break;
        }
        packed += group_bytes<Product>(width, stride);
        codes += taken * stride;
        tokens -= taken;
    }
}

}  // namespace
}  // namespace maxsieve
