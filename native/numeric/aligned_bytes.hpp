// Memory for kernels. It starts at a cache line, so that a row of a tile or a vector of 64 bytes never lies in two
// lines. New memory has any values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace maxsieve {

class AlignedBytes {
  public:
    explicit AlignedBytes(size_t bytes = 0) { resize(bytes); }
    void resize(size_t bytes) { lines_.resize(bytes / sizeof(Line) + 1); }
    int8_t* data() { return lines_.front().bytes; }
    const int8_t* data() const { return lines_.front().bytes; }

  private:
    struct alignas(64) Line {
        Line() {}  // writes nothing
        int8_t bytes[64];
    };
    std::vector<Line> lines_;
};

}  // namespace maxsieve
