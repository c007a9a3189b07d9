// Segments and corpora that keep their arrays alive.
#pragma once

#include <cstdint>
#include <vector>

#include "binding/arrays.hpp"
#include "index/corpus.hpp"

namespace maxsieve {

using AnyMatrix = nanobind::ndarray<nanobind::ro, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

class HeldSegment {
  public:
    // Rows alone: enough for canonical scores.
    HeldSegment(AnyMatrix rows, Flat<const int64_t> offsets);

    HeldSegment(AnyMatrix rows, Flat<const int64_t> offsets, Matrix<const int8_t> codes, Flat<const float> scale,
                Flat<const float> rho, Flat<const float> nu);

    const Segment& view() const { return view_; }

  private:
    AnyMatrix rows_;
    Flat<const int64_t> offsets_;
    Matrix<const int8_t> codes_;
    Flat<const float> scale_, rho_, nu_;
    Segment view_{};
};

class HeldCorpus {
  public:
    HeldCorpus(int64_t d, nanobind::tuple segments);

    const Corpus& get() const { return corpus_; }

  private:
    nanobind::tuple segments_;
    Corpus corpus_;
};

void bind_corpus(nanobind::module_& m);

}  // namespace maxsieve
