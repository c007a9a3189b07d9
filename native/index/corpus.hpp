// The documents a search sees: segments laid end to end. A position counts documents through all of them. Nothing here
// owns the arrays, and nothing knows about ids or files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace maxsieve {

struct Segment {
    int64_t documents;
    const int64_t* offsets;  // documents + 1 of them, in tokens
    const void* rows;        // [tokens][d], float32 or float16
    bool half;
    const int8_t* codes;  // [tokens][code_stride(d)], or null where only canonical scores are wanted
    const float *scale, *rho, *nu;
};

struct Document {
    int64_t length;
    const void* rows;
    bool half;
    const int8_t* codes;
    float scale, rho, nu;
};

class Corpus {
  public:
    Corpus(int64_t d, std::vector<Segment> segments);

    int64_t d() const { return d_; }
    int64_t stride() const { return stride_; }
    int64_t documents() const { return starts_.back(); }
    int64_t tokens() const { return tokens_; }

    // The document at a position; `hint` remembers the segment, so that ascending positions find theirs at once.
    Document at(int64_t position, size_t& hint) const;

  private:
    int64_t d_, stride_, tokens_ = 0;
    std::vector<Segment> segments_;
    std::vector<int64_t> starts_;  // position of each segment's first document, and the end
};

}  // namespace maxsieve
