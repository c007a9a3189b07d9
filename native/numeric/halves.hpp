// float32 to float16; the way back is the kernels' `widen`.
#pragma once

#include <cstdint>

namespace maxsieve {

// Rounded to nearest, halves to even; infinite from 65520 on, and for NaN.
void narrow(const float* floats, int64_t count, uint16_t* halves);

}  // namespace maxsieve
