// Segments and corpora that keep their arrays alive.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "binding/any_array.hpp"
#include "binding/arrays.hpp"
#include "binding/codebook.hpp"
#include "binding/lists.hpp"
#include "index/corpus.hpp"

namespace maxsieve {

class HeldSegment {
  public:
    // A segment has rows, or codes, or both; or residual bits. Rows are enough for canonical scores. Codes need scale,
    // rho and nu too. Residual bits need levels and factors, scale and nu, centroids and the codebook that names them.
    HeldSegment(int64_t d, Flat<const int64_t> offsets, std::optional<ReadRows> rows,
                std::optional<Matrix<const int8_t>> codes, std::optional<Flat<const float>> scale,
                std::optional<Flat<const float>> rho, std::optional<Flat<const float>> nu,
                std::optional<Flat<const uint16_t>> centroids, std::optional<Flat<const int64_t>> sequence,
                std::optional<Matrix<const uint8_t>> levels, std::optional<Matrix<const uint8_t>> factors, int64_t bits,
                std::optional<CodebookObject> codebook);

    const Segment& view() const { return view_; }

  private:
    Flat<const int64_t> offsets_;
    std::optional<ReadRows> rows_;
    std::optional<Matrix<const int8_t>> codes_;
    std::optional<Flat<const float>> scale_, rho_, nu_;
    std::optional<Flat<const uint16_t>> centroids_;
    std::optional<Flat<const int64_t>> sequence_;
    std::optional<Matrix<const uint8_t>> levels_, factors_;
    std::optional<CodebookObject> codebook_;
    Segment view_{};
};

using SegmentTuple = Tuple<HeldSegment, nanobind::ellipsis>;
using ListsObject = nanobind::typed<nanobind::object, HeldLists>;

class HeldCorpus {
  public:
    // With a codebook, every segment must have centroids. With lists, the first documents are in them.
    HeldCorpus(int64_t d, SegmentTuple segments, std::optional<CodebookObject> codebook,
               std::optional<ListsObject> lists);

    const Corpus& get() const { return corpus_; }

  private:
    SegmentTuple segments_;
    std::optional<CodebookObject> codebook_;
    std::optional<ListsObject> lists_;
    Corpus corpus_;
};

void bind_corpus(nanobind::module_& m);

}  // namespace maxsieve
