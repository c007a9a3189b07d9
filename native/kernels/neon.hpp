// Code that both NEON kernels share. `Product::add` multiplies sixteen bytes of a query token by sixteen of a document
// token, and adds the products to four partial sums: in one instruction if the CPU has `sdot` (neon_dotprod.cpp), in
// three if not (neon.cpp). Everything has internal linkage, because the two files are compiled with different flags.
//
// A block is Rows x Tokens dot products, four sums each, at most 4 x 4: 16 registers of sums, 4 of document tokens, 4
// of running maxima, one query token and one intermediate result; 26 of 32. Then three pairwise additions turn the sums
// of four document tokens into one vector, with a lane for each. So no lane is wasted on missing query tokens, whether
// there are 1 or 100, and the running maxima of a span stay vectors until its end.
#pragma once

#include <arm_neon.h>

#include <cstring>

#include "kernels/generic/row_blocks.hpp"
#include "kernels/kernel.hpp"

namespace maxsieve {
namespace {

struct Neon {
    using Register = float32x4_t;
    static constexpr int kLanes = 4;
    static constexpr int kAccumulators = 24;
    static float32x4_t zero() { return vdupq_n_f32(0.0F); }
    static float32x4_t load(const float* from) { return vld1q_f32(from); }
    static void store(float* to, float32x4_t x) { vst1q_f32(to, x); }
    static float32x4_t broadcast(const float* from) { return vld1q_dup_f32(from); }
    static float32x4_t fma(float32x4_t a, float32x4_t b, float32x4_t c) { return vfmaq_f32(c, a, b); }
    static float32x4_t max(float32x4_t a, float32x4_t b) { return vmaxq_f32(a, b); }
};

constexpr int64_t kVector = 16;
constexpr int kTogether = 4;  // query tokens, and document tokens, of a block

// Lane r has the total of sums[r]. If there are fewer than four rows, the last row is repeated, which changes no
// maximum.
template <int Rows>
inline int32x4_t totals(const int32x4_t (&sums)[Rows]) {
    constexpr int kLast = Rows - 1;
    return vpaddq_s32(vpaddq_s32(sums[0], sums[kLast < 1 ? kLast : 1]),
                      vpaddq_s32(sums[kLast < 2 ? kLast : 2], sums[kLast < 3 ? kLast : 3]));
}

// The dot products of each query token with Rows document tokens, in the lanes of `totals`.
template <class Product, int Tokens, int Rows>
inline void multiply_block(const int8_t* query, int64_t stride, const int8_t* rows, int32x4_t (&dots)[Tokens]) {
    int32x4_t sums[Tokens][Rows];
    for (int t = 0; t < Tokens; ++t) {
        for (int r = 0; r < Rows; ++r) sums[t][r] = vdupq_n_s32(0);
    }
    for (int64_t k = 0; k < stride; k += kVector) {
        int8x16_t token[Rows];
        for (int r = 0; r < Rows; ++r) token[r] = vld1q_s8(rows + r * stride + k);
        for (int t = 0; t < Tokens; ++t) {
            const int8x16_t codes = vld1q_s8(query + t * stride + k);
            for (int r = 0; r < Rows; ++r) sums[t][r] = Product::add(sums[t][r], codes, token[r]);
        }
    }
    for (int t = 0; t < Tokens; ++t) dots[t] = totals(sums[t]);
}

template <class Product, int Tokens>
void maxima_of(const int8_t* query, int64_t stride, const CodeSpan& span, int32_t* best) {
    int32x4_t largest[Tokens];
    for (int t = 0; t < Tokens; ++t) largest[t] = vdupq_n_s32(best[t]);
    for_each_row_block<kTogether>(0, span.rows, [&]<int Rows>(int64_t row) {
        int32x4_t dots[Tokens];
        multiply_block<Product, Tokens, Rows>(query, stride, span.codes + row * stride, dots);
        for (int t = 0; t < Tokens; ++t) largest[t] = vmaxq_s32(largest[t], dots[t]);
    });
    for (int t = 0; t < Tokens; ++t) best[t] = vmaxvq_s32(largest[t]);
}

// The maxima of one span for any number of query tokens, whose codes are stored row by row.
template <class Product>
void row_maxima(const int8_t* query, int64_t tokens, int64_t stride, const CodeSpan& span, int32_t* best) {
    int64_t t = 0;
    for (; t + kTogether <= tokens; t += kTogether) {
        maxima_of<Product, kTogether>(query + t * stride, stride, span, best + t);
    }
    switch (tokens - t) {
        case 3:
            maxima_of<Product, 3>(query + t * stride, stride, span, best + t);
            break;
        case 2:
            maxima_of<Product, 2>(query + t * stride, stride, span, best + t);
            break;
        case 1:
            maxima_of<Product, 1>(query + t * stride, stride, span, best + t);
            break;
        default:
            break;
    }
}

// All dot products of query tokens, whose codes are stored row by row, and document tokens.
template <class Product>
[[maybe_unused]] void dots(const int8_t* query, int64_t tokens, int64_t stride, const int8_t* rows, int64_t count,
                           int32_t* out, int8_t*) {
    for (int64_t t = 0; t < tokens; t += kTogether) {
        for_each_row_block<kTogether>(0, count, [&]<int Rows>(int64_t row) {
            int32x4_t found[kTogether];
            multiply_block<Product, kTogether, Rows>(query + t * stride, stride, rows + row * stride, found);
            for (int i = 0; i < kTogether; ++i) {
                for (int r = 0; r < Rows; ++r) out[(row + r) * tokens + t + i] = found[i][r];
            }
        });
    }
}

size_t packed_bytes(int64_t tokens, int64_t stride) {
    return static_cast<size_t>(tokens * stride);
}

void widen(const uint16_t* halves, int64_t count, float* floats) {
    int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
        vst1q_f32(floats + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(halves + i))));
    }
    if (i == count) return;
    const auto left = static_cast<size_t>(count - i);
    uint16_t padded[4] = {};
    float four[4];
    std::memcpy(padded, halves + i, left * sizeof *halves);
    vst1q_f32(four, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(padded))));
    std::memcpy(floats + i, four, left * sizeof *floats);
}

}  // namespace
}  // namespace maxsieve
