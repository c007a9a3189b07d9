// The heads that are nearest to a token.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/kernel.hpp"

namespace maxsieve {

// The `count` places with the largest numbers, largest first; of equal ones, the first. Those numbers are overwritten.
inline void first_places(const Kernel& kernel, int32_t* numbers, int64_t size, int64_t count, int32_t* places) {
    for (int64_t p = 0; p < count; ++p) {
        int32_t largest;
        kernel.first_largest(numbers, size, size, 1, &largest, places + p);
        numbers[places[p]] = std::numeric_limits<int32_t>::min();  // below every dot product
    }
}

}  // namespace maxsieve
