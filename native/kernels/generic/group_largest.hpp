// The largest numbers of groups, once for all ISAs: what a walk of lists looks at before it looks at documents.
#pragma once

#include "kernels/kernel.hpp"

namespace maxsieve {
namespace {

inline void generic_group_largest(const uint32_t* numbers, int64_t count, uint32_t* largest) {
    int64_t i = 0;
    for (; i + kGroup <= count; i += kGroup, ++largest) {
        uint32_t most = 0;
        for (int64_t j = 0; j < kGroup; ++j) most = numbers[i + j] > most ? numbers[i + j] : most;
        *largest = most;
    }
    if (i == count) return;
    uint32_t most = 0;
    for (; i < count; ++i) most = numbers[i] > most ? numbers[i] : most;
    *largest = most;
}

}  // namespace
}  // namespace maxsieve
