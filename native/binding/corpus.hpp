// Segments and corpora that keep their arrays alive.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "binding/arrays.hpp"
#include "binding/codebook.hpp"
#include "index/corpus.hpp"

namespace maxsieve {

using AnyMatrix = nanobind::ndarray<nanobind::ro, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

class HeldSegment {
  public:
    // Rows alone are enough for canonical scores; codes, scale, rho and nu come together, and are enough without rows.
    HeldSegment(int64_t d, Flat<const int64_t> offsets, std::optional<AnyMatrix> rows,
                std::optional<Matrix<const int8_t>> codes, std::optional<Flat<const float>> scale,
                std::optional<Flat<const float>> rho, std::optional<Flat<const float>> nu,
                std::optional<Flat<const uint16_t>> centroids);

    const Segment& view() const { return view_; }

  private:
    Flat<const int64_t> offsets_;
    std::optional<AnyMatrix> rows_;
    std::optional<Matrix<const int8_t>> codes_;
    std::optional<Flat<const float>> scale_, rho_, nu_;
    std::optional<Flat<const uint16_t>> centroids_;
    Segment view_{};
};

class HeldCorpus {
  public:
    // `codebook` is a `_core.Codebook` or None; with one, every segment must have centroids.
    HeldCorpus(int64_t d, nanobind::tuple segments, nanobind::object codebook);

    const Corpus& get() const { return corpus_; }

  private:
    nanobind::tuple segments_;
    nanobind::object codebook_;
    Corpus corpus_;
};

void bind_corpus(nanobind::module_& m);

}  // namespace maxsieve
