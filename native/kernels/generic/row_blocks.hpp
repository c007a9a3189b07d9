// Rows of a document in blocks of the size that fills a kernel's registers.
#pragma once

#include <cstdint>

namespace maxsieve {
namespace {

// Calls block<Rows>(first) for the rows from j on, Rows at a time. A last few that fill more than half a block are a
// whole one, which reaches back over rows it has had: that changes no maximum. Fewer go to a block half as large.
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
