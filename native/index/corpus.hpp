// The documents that a search sees: segments laid end to end. A position counts documents over all segments. A corpus
// does not own the arrays, and knows nothing about ids or files.
//
// To add an array to segments (a further tier of codes, for example), add a member to Segment and an accessor to
// Document.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codebook/codebook.hpp"
#include "kernels/kernel.hpp"
#include "lists/lists.hpp"

namespace maxsieve {

// How a document's vectors are stored: as floats, as its codes times its scale (int8),
// or as centroids and residual bits of the rotated space.
enum class Stored { float32, float16, int8, residual };

struct Segment {
    int64_t documents, d;
    const int64_t* offsets;  // documents + 1 of them, counted in tokens
    Stored stored;
    const void* rows;               // [tokens][d], float32 or float16; null for int8
    const int8_t* codes;            // [tokens][code_stride(d)], or null if only canonical scores are needed
    const float *scale, *rho, *nu;  // a residual segment has no rho: its error has the scale as a factor instead
    const uint16_t* centroids;      // [tokens], or null if there is no codebook
    const int64_t* sequence;        // [documents]: insertion order over all shards, or null if positions give it
    // Only of a residual segment: bits for each number, levels and factors of its tokens, and the codebook that names
    // its centroids.
    int64_t bits = 0;
    const uint8_t *levels = nullptr, *factors = nullptr;
    const Codebook* book = nullptr;
    ResidualSteps steps = {};
};

// One document of a segment, which must live longer. Do not call an accessor of an array that the segment lacks.
class Document {
  public:
    Document(const Segment& segment, int64_t index)
        : segment_(&segment),
          index_(index),
          first_(segment.offsets[index]),
          length_(segment.offsets[index + 1] - first_) {}

    int64_t length() const { return length_; }
    Stored stored() const { return segment_->stored; }
    const float* float32_rows() const { return static_cast<const float*>(segment_->rows) + first_ * segment_->d; }
    const uint16_t* float16_rows() const { return static_cast<const uint16_t*>(segment_->rows) + first_ * segment_->d; }
    const int8_t* codes() const { return segment_->codes + first_ * code_stride(segment_->d); }
    float scale() const { return segment_->scale[index_]; }
    float rho() const { return segment_->rho[index_]; }
    float nu() const { return segment_->nu[index_]; }
    const uint16_t* centroids() const { return segment_->centroids + first_; }
    const Codebook* book() const { return segment_->book; }
    // The largest u_j of the tokens, or 0 if the document does not consist of residual bits.
    double largest_factor() const;
    ResidualView residual_view() const {
        const Codebook& named_by = *segment_->book;
        return {segment_->d,    segment_->bits, segment_->steps,
                named_by.codes, named_by.scale, static_cast<uint32_t>(named_by.centroids - 1)};
    }
    ResidualSpan residual_span(int64_t first, int64_t rows) const {
        const int64_t at = first_ + first;
        return {segment_->levels + at * level_bytes(segment_->d, segment_->bits), segment_->factors + 2 * at,
                segment_->centroids + at, rows};
    }
    int64_t sequence() const { return segment_->sequence[index_]; }
    // The bytes that a scan reads, array by array.
    std::array<std::span<const std::byte>, 3> scanned() const {
        const auto of_tokens = [&](const auto* array, int64_t each) {
            const auto tokens = static_cast<size_t>(array == nullptr ? 0 : length_);
            return std::as_bytes(
                std::span(array + (tokens == 0 ? 0 : first_ * each), tokens * static_cast<size_t>(each)));
        };
        if (segment_->bits == 0) return {of_tokens(segment_->codes, code_stride(segment_->d)), {}, {}};
        return {of_tokens(segment_->levels, level_bytes(segment_->d, segment_->bits)), of_tokens(segment_->factors, 2),
                of_tokens(segment_->centroids, 1)};
    }

  private:
    const Segment* segment_;
    int64_t index_, first_, length_;
};

class Corpus {
  public:
    // `codebook` names the segments' centroids; null if there is none. It must live longer. `lists` have
    // no codebook if there are none.
    Corpus(int64_t d, std::vector<Segment> segments, const Codebook* codebook, Lists lists);

    int64_t d() const { return d_; }
    int64_t stride() const { return code_stride(d_); }
    int64_t documents() const { return starts_.back(); }
    int64_t tokens() const { return tokens_; }

    // Whether every document has codes that a scan can read.
    bool coded() const { return coded_; }
    // Bits for each number of a residual, or 0 if documents are stored in another way.
    int64_t residual_bits() const { return segments_.empty() ? 0 : segments_.front().bits; }
    // The codebooks of residual segments, each once.
    const std::vector<const Codebook*>& books() const { return books_; }
    bool has_codebook() const { return codebook_ != nullptr; }
    const Codebook& codebook() const { return *codebook_; }

    // Whether there are lists, of some documents at least.
    bool has_lists() const { return lists_.codebook != nullptr; }
    const Lists& lists() const { return lists_; }

    // Whether insertion order is that of the documents' sequence numbers; else it is that of their positions.
    bool sequenced() const { return sequenced_; }

    // The insertion order of the document at a position. It breaks ties: the lower number comes first.
    int64_t order(int64_t position, size_t& hint) const {
        return sequenced_ ? at(position, hint).sequence() : position;
    }

    // The document at a position. `hint` keeps the last segment, so that ascending positions need no search.
    Document at(int64_t position, size_t& hint) const;

  private:
    int64_t d_, tokens_ = 0;
    bool coded_ = true, sequenced_;
    const Codebook* codebook_;
    Lists lists_;
    std::vector<Segment> segments_;
    std::vector<const Codebook*> books_;
    std::vector<int64_t> starts_;  // the first position of each segment, and the end
};

}  // namespace maxsieve
