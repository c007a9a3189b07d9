// All dot products of some query tokens and document tokens, with vectors of 32 bytes. Packed as for maxima.hpp, in
// whole panels: every group has eight tokens, and groups come in pairs.
#pragma once

#include "kernels/avx2/maxima.hpp"

namespace maxsieve {
namespace {

template <class Product, int Rows>
inline void store_dots(const int8_t* packed, int64_t stride, const int8_t* rows, int64_t tokens, int32_t* out) {
    const int64_t apart = group_bytes<Product>(8, stride);
    __m256i sums[2][Rows];
    for (int v = 0; v < 2; ++v) {
        for (int r = 0; r < Rows; ++r) sums[v][r] = load(packed + v * apart);
    }
    const int8_t* vector = packed + kVector;
    for (int64_t k = 0; k < stride; k += 4, vector += Product::kPlanes * kVector) {
        typename Product::Query query[2];
        for (int v = 0; v < 2; ++v) query[v] = Product::query(vector + v * apart);
        for (int r = 0; r < Rows; ++r) {
            const __m256i token = Product::token(repeat<8>(rows + r * stride + k));
            for (int v = 0; v < 2; ++v) sums[v][r] = Product::add(sums[v][r], query[v], token);
        }
    }
    for (int v = 0; v < 2; ++v) {
        for (int r = 0; r < Rows; ++r) {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + r * tokens + v * 8), sums[v][r]);
        }
    }
}

template <class Product>
void dots(const int8_t* packed, int64_t tokens, int64_t stride, const int8_t* rows, int64_t count, int32_t* out) {
    constexpr int kRows = Product::kRowsOfTwo;
    for (int64_t t = 0; t < tokens; t += kPanel, packed += 2 * group_bytes<Product>(8, stride)) {
        int64_t j = 0;
        for (; j + kRows <= count; j += kRows) {
            store_dots<Product, kRows>(packed, stride, rows + j * stride, tokens, out + j * tokens + t);
        }
        for (; j < count; ++j) store_dots<Product, 1>(packed, stride, rows + j * stride, tokens, out + j * tokens + t);
    }
}

}  // namespace
}  // namespace maxsieve
