// The documents a search sees: segments laid end to end. A position counts documents through all of them. Nothing here
// owns the arrays, and nothing knows about ids or files.
//
// Another block of a segment (a further tier of codes, say) is a member of Segment and an accessor of Document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/kernel.hpp"

namespace maxsieve {

struct Segment {
    int64_t documents, d;
    const int64_t* offsets;  // documents + 1 of them, in tokens
    const void* rows;        // [tokens][d], float32 or float16
    bool half;
    const int8_t* codes;  // [tokens][code_stride(d)], or null where only canonical scores are wanted
    const float *scale, *rho, *nu;
};

// One document of a segment, which must live longer. What the segment lacks must not be asked for.
class Document {
  public:
    Document(const Segment& segment, int64_t index)
        : segment_(&segment),
          index_(index),
          first_(segment.offsets[index]),
          length_(segment.offsets[index + 1] - first_) {}

    int64_t length() const { return length_; }
    bool half() const { return segment_->half; }
    const void* rows() const {
        return static_cast<const char*>(segment_->rows) + first_ * segment_->d * (segment_->half ? 2 : 4);
    }
    const int8_t* codes() const { return segment_->codes + first_ * code_stride(segment_->d); }
    float scale() const { return segment_->scale[index_]; }
    float rho() const { return segment_->rho[index_]; }
    float nu() const { return segment_->nu[index_]; }

  private:
    const Segment* segment_;
    int64_t index_, first_, length_;
};

class Corpus {
  public:
    Corpus(int64_t d, std::vector<Segment> segments);

    int64_t d() const { return d_; }
    int64_t stride() const { return code_stride(d_); }
    int64_t documents() const { return starts_.back(); }
    int64_t tokens() const { return tokens_; }

    // Whether every document has codes.
    bool coded() const { return coded_; }

    // The document at a position; `hint` remembers the segment, so that ascending positions find theirs at once.
    Document at(int64_t position, size_t& hint) const;

  private:
    int64_t d_, tokens_ = 0;
    bool coded_ = true;
    std::vector<Segment> segments_;
    std::vector<int64_t> starts_;  // position of each segment's first document, and the end
};

}  // namespace maxsieve
