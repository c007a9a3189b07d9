// Adds the weights that documents got for one query token to their sums, once for all ISAs.
#pragma once

#include "kernels/kernel.hpp"

namespace maxsieve {
namespace {

inline void generic_add_cells(uint16_t* __restrict cells, int64_t count, uint32_t* __restrict sums) {
    for (int64_t i = 0; i < count; ++i) {
        sums[i] += static_cast<uint32_t>(cells[i]) << 16;
        cells[i] = 0;
    }
}

}  // namespace
}  // namespace maxsieve
