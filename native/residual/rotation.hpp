// The rotation of the space in stores of residual bits; `rotate` in spec/residual.py is the definition.
#pragma once

#include <cstdint>
#include <vector>

namespace maxsieve {

class Rotation {
  public:
    explicit Rotation(int64_t d);

    // Rotates rows [count][d] in place, or back.
    void forwards(float* rows, int64_t count) const;
    void backwards(float* rows, int64_t count) const;

  private:
    void butterflies(float* row, int turn) const;

    int64_t d_;
    std::vector<float> signs_[2];
    std::vector<int64_t> blocks_[2];  // powers of two
};

}  // namespace maxsieve
