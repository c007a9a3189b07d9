// The rows of a document, in blocks that fill a kernel's registers.
#pragma once

#include <cstdint>

namespace maxsieve {
namespace {

// Calls block<Rows>(first) for blocks of Rows rows, from row j on. If the last rows fill more than half a block, they
// get a whole block, which starts earlier and repeats some rows: that changes no maximum. Otherwise they go to blocks
// of half the size.
template <int Rows, class Block>
inline void for_each_row_block(int64_t j, int64_t count, const Block& block) {
    for (; j + Rows <= count; j += Rows) block.template operator()<Rows>(j);
    if constexpr (Rows > 1) {
        if (count - j > Rows / 2 && count >= Rows) {
            block.template operator()<Rows>(count - Rows);
        } else if (j < count) {
            for_each_row_block<Rows / 2>(j, count, block);
        }
    }
}

}  // namespace
}  // namespace maxsieve
