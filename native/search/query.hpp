// A query as given, and in the two forms that the engine reads: float panels for canonical cells, int8 codes for
// proxies.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/corpus.hpp"
#include "kernels/kernel.hpp"
#include "numeric/aligned_bytes.hpp"

namespace maxsieve {

struct Query {
    const float* rows;  // [tokens][d]
    int64_t tokens;
    std::span<const int64_t> candidates;  // positions of non-empty documents, ascending
};

// The query transposed into panels [d][16], one for each 16 tokens. Zeros fill the last panel.
class Panels {
  public:
    Panels(const float* query, int64_t tokens, int64_t d);

    int64_t tokens() const { return tokens_; }
    int64_t d() const { return d_; }
    int64_t padded_tokens() const { return (tokens_ + kPanel - 1) / kPanel * kPanel; }
    const float* data() const { return data_.data(); }

  private:
    int64_t tokens_, d_;
    std::vector<float> data_;
};

// Codes y_t, scales s_t, and upper bounds of |q_t|, |s_t y_t| and eta_t = |q_t - s_t y_t|.
struct QueryCodes {
    QueryCodes(const Kernel& kernel, const float* query, int64_t tokens, int64_t d, int64_t residual_bits = 0);

    const int8_t* row(int64_t token) const { return codes.data() + token * stride; }

    int64_t tokens, d, stride;
    std::vector<int8_t> codes;  // [tokens][stride]
    std::vector<float> scale;
    std::vector<double> norm, code_norm, eta;
    // For documents of 1 or 2 residual bits: the steps of the sums for signs, and the error of rounding to these steps.
    // Otherwise 1 and 0.
    std::vector<float> step;
    std::vector<double> step_error;
};

// The codes of some tokens of one or several queries, in the kernel's layout.
class PackedCodes {
  public:
    PackedCodes(const Kernel& kernel, const std::vector<const int8_t*>& rows, int64_t stride);

    int64_t tokens() const { return tokens_; }
    const int8_t* data() const { return data_.data(); }

  private:
    int64_t tokens_;
    AlignedBytes data_;
};

// What one step of the maxima of each query token is worth: s_t, or s_t step_t P if documents are residual bits.
std::vector<double> step_weights(const QueryCodes& query, int64_t residual_bits);

// The part of the query in eps_i = (rho_i * on_rho + nu_i * on_nu + constant) * (1 + 2^-38); docs/theory.md derives it.
// If documents are residual bits, g_i takes the place of rho_i, and on_rho grows by on_factor times the largest factor
// u_j of the document. A single cell has at most the error `cell`, apart from rounding.
struct ErrorTerms {
    ErrorTerms(const QueryCodes& query, int64_t residual_bits);
    double epsilon(const Document& document) const {
        const double with_factor = on_rho + document.largest_factor() * on_factor;
        return (static_cast<double>(document.rho()) * with_factor + static_cast<double>(document.nu()) * on_nu +
                constant) *
               (1.0 + 0x1p-38);
    }
    double cell(const Document& document) const {
        const double with_factor = cell_on_rho + document.largest_factor() * cell_on_factor;
        return static_cast<double>(document.rho()) * with_factor + static_cast<double>(document.nu()) * cell_on_nu;
    }

  private:
    double on_rho, on_factor = 0.0, on_nu, constant, cell_on_rho, cell_on_factor = 0.0, cell_on_nu;
};

}  // namespace maxsieve
