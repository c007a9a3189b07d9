// Token vectors as a caller has them: of any float type, anywhere in memory, in one array or in many.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernel.hpp"

namespace maxsieve {

enum class Number { float16, bfloat16, float32, float64 };

// Some rows of d numbers. Steps are in bytes and may be zero or negative; nothing need be aligned.
struct Piece {
    const char* data;
    int64_t rows, row_step, column_step;
    Number type;
};

// Pieces laid end to end, read as float32. Nothing here owns the memory.
class InputRows {
  public:
    InputRows(int64_t d, std::vector<Piece> pieces);

    int64_t rows() const { return starts_.back(); }

    // Rows first..first + count - 1. What is too large for float32 becomes infinite.
    void read(int64_t first, int64_t count, const Kernel& kernel, float* out) const;

    // The same rows where they lie, if that is in one piece as float32 that needs no reading; else null.
    const float* in_place(int64_t first, int64_t count) const;

  private:
    size_t piece_at(int64_t row) const;

    int64_t d_;
    std::vector<Piece> pieces_;
    std::vector<int64_t> starts_;  // the first row of each piece, and the end
};

}  // namespace maxsieve
