// Converts float32 to float16. The kernels' `widen` converts back.
#pragma once

#include <cstdint>

namespace maxsieve {

// Rounds to nearest, ties to even. Values from 65520 on and NaN become infinite.
void narrow(const float* floats, int64_t count, uint16_t* halves);

}  // namespace maxsieve
