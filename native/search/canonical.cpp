#include "search/canonical.hpp"

#include <algorithm>
#include <limits>

namespace maxsieve {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

// Rows in a piece: at most 128 KiB of floats, so that they stay in L2 while the query's panels pass over them; and at
// most four million multiply-adds, so that the interrupt is checked every tenth of a second, even with FMA in software.
int64_t piece_rows(int64_t tokens, int64_t d) {
    return std::max<int64_t>(1, std::min<int64_t>(32768 / d, (int64_t{1} << 22) / (tokens * d)));
}

}  // namespace

float canonical_sum(std::span<const float> cells) {
    double total = 0.0;
    for (const float cell : cells) total += static_cast<double>(cell);
    return static_cast<float>(total);
}

CanonicalScorer::CanonicalScorer(const Kernel& kernel, const Panels& panels, Interrupt& interrupt)
    : kernel_(kernel),
      panels_(panels),
      interrupt_(interrupt),
      piece_(piece_rows(panels.padded_tokens(), panels.d())),
      best_(static_cast<size_t>(panels.padded_tokens())) {}

std::span<const float> CanonicalScorer::cells(const Document& document) {
    std::fill(best_.begin(), best_.end(), kNone);
    for (int64_t j = 0; j < document.length(); j += piece_) {
        if (j > 0) interrupt_.check();
        const int64_t count = std::min(piece_, document.length() - j);
        kernel_.cells(panels_.data(), panels_.tokens(), panels_.d(), float_rows(document, j, count), count,
                      best_.data());
    }
    return {best_.data(), static_cast<size_t>(panels_.tokens())};
}

float CanonicalScorer::score(const Document& document) {
    return canonical_sum(cells(document));
}

void CanonicalScorer::explain(const Document& document, int64_t* tokens, float* similarities) {
    std::fill_n(similarities, panels_.tokens(), kNone);
    for (int64_t j = 0; j < document.length(); ++j) {
        interrupt_.check();
        std::fill(best_.begin(), best_.end(), kNone);
        kernel_.cells(panels_.data(), panels_.tokens(), panels_.d(), float_rows(document, j, 1), 1, best_.data());
        for (int64_t t = 0; t < panels_.tokens(); ++t) {
            if (best_[static_cast<size_t>(t)] > similarities[t]) {
                similarities[t] = best_[static_cast<size_t>(t)];
                tokens[t] = j;
            }
        }
    }
}

const float* CanonicalScorer::float_rows(const Document& document, int64_t first, int64_t count) {
    const int64_t d = panels_.d();
    if (document.stored() == Stored::float32) return document.float32_rows() + first * d;
    widened_.resize(static_cast<size_t>(piece_ * d));
    if (document.stored() == Stored::float16) {
        kernel_.widen(document.float16_rows() + first * d, count * d, widened_.data());
    } else if (document.stored() == Stored::residual) {
        kernel_.decode_residual(document.residual_view(), document.residual_span(first, count), document.scale(),
                                widened_.data());
    } else {
        const int64_t stride = code_stride(d);
        kernel_.scale_codes(document.codes() + first * stride, document.scale(), count, d, stride, widened_.data());
    }
    return widened_.data();
}

}  // namespace maxsieve
