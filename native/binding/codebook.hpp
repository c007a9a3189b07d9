// Codebooks that keep their arrays alive.
#pragma once

#include <cstdint>
#include <optional>

#include "binding/arrays.hpp"
#include "codebook/codebook.hpp"

namespace maxsieve {

class HeldCodebook {
  public:
    HeldCodebook(int64_t d, Matrix<const int8_t> heads, Flat<const int64_t> starts, Matrix<const int8_t> codes,
                 float scale, Flat<const float> length);

    const Codebook& view() const { return view_; }

    // Whether a store of residual bits can use it: two bytes name its centroids, and none is too long.
    bool serves_residuals() const;

  private:
    Matrix<const int8_t> heads_;
    Flat<const int64_t> starts_;
    Matrix<const int8_t> codes_;
    Flat<const float> length_;
    Codebook view_{};
    mutable std::optional<bool> serves_residuals_;
};

using CodebookObject = nanobind::typed<nanobind::object, HeldCodebook>;

void bind_codebook(nanobind::module_& m);

}  // namespace maxsieve
