// The integer maxima of avxvnni.cpp. The other functions of that kernel are those of AVX2.
#pragma once

#include "kernels/kernel.hpp"

namespace maxsieve {

size_t avxvnni_packed_bytes(int64_t tokens, int64_t stride);
void avxvnni_pack(const int8_t* codes, int64_t tokens, int64_t stride, int8_t* packed);
void avxvnni_maxima(const int8_t* packed, int64_t tokens, int64_t stride, const CodeSpan* spans, int64_t count,
                    int32_t* best, int8_t* scratch);
void avxvnni_dots(const int8_t* packed, int64_t tokens, int64_t stride, const int8_t* rows, int64_t count, int32_t* out,
                  int8_t* scratch);

}  // namespace maxsieve
