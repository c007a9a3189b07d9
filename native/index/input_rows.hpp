// Token vectors as a caller has them: any float type, any strides, one array or many.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernel.hpp"

namespace maxsieve {

enum class Number { float16, bfloat16, float32, float64 };

// Rows of d numbers. Steps are in bytes, and may be zero or negative. No alignment is needed.
struct Piece {
    const char* data;
    int64_t rows, row_step, column_step;
    Number type;
};

// Pieces laid end to end, read as float32. It does not own the memory.
class InputRows {
  public:
    InputRows(int64_t d, std::vector<Piece> pieces);

    int64_t rows() const { return starts_.back(); }

    // Reads rows first..first + count - 1. Values that are too large for float32 become infinite.
    void read(int64_t first, int64_t count, const Kernel& kernel, float* out) const;

    // A pointer to the same rows, if they need no conversion: float32, aligned, and contiguous in one piece. Otherwise
    // null.
    const float* in_place(int64_t first, int64_t count) const;

  private:
    size_t piece_at(int64_t row) const;

    int64_t d_;
    std::vector<Piece> pieces_;
    std::vector<int64_t> starts_;  // the first row of each piece, and the end
};

}  // namespace maxsieve
