// All dot products of query tokens and document tokens, with vectors of 32 bytes. Codes are packed as for maxima.hpp.
// Tokens come in whole panels, so every group has eight of them, and groups come in pairs.
#pragma once

#include "kernels/avx2/maxima.hpp"

namespace maxsieve {
namespace {

template <class Product, int Rows>
inline void block_dots(const int8_t* packed, int64_t stride, int64_t used, const int8_t* rows, int64_t tokens,
                       int32_t* out) {
    __m256i sums[2][Rows];
    multiply_block<Product, 8, false>(packed, stride, used, rows, nullptr, sums);
    for (int v = 0; v < 2; ++v) {
        for (int r = 0; r < Rows; ++r) {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + r * tokens + v * 8), sums[v][r]);
        }
    }
}

template <class Product>
void dots(const int8_t* packed, int64_t tokens, int64_t stride, const int8_t* rows, int64_t count, int32_t* out,
          int8_t*) {
    constexpr int kRows = Product::kRowsOfTwo;
    const int64_t used = codes_used(packed);
    packed += kVector;
    for (int64_t t = 0; t < tokens; t += kPanel, packed += 2 * group_bytes<Product>(8, stride)) {
        int64_t j = 0;
        for (; j + kRows <= count; j += kRows) {
            block_dots<Product, kRows>(packed, stride, used, rows + j * stride, tokens, out + j * tokens + t);
        }
        for (; j < count; ++j)
            block_dots<Product, 1>(packed, stride, used, rows + j * stride, tokens, out + j * tokens + t);
    }
}

}  // namespace
}  // namespace maxsieve
