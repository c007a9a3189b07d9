// Dot products of one query token with many rows of codes, once for all ISAs. The query's codes are widened to int16
// beforehand: then compilers make one widening and one multiply-add of pairs of it, for each vector of a row.
//
// Overflow: |<y, c>| <= 127^2 * 4096 < 2^27.
#pragma once

#include "kernels/kernel.hpp"

namespace maxsieve {
namespace {

inline void generic_row_dots(const int16_t* query, int64_t stride, const int8_t* rows, int64_t count, int32_t* out) {
    for (int64_t j = 0; j < count; ++j, rows += stride) {
        int32_t dot = 0;
        for (int64_t k = 0; k < stride; ++k) dot += static_cast<int32_t>(query[k]) * rows[k];
        out[j] = dot;
    }
}

}  // namespace
}  // namespace maxsieve
