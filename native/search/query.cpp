#include "search/query.hpp"

#include <cstring>

#include "numeric/rounding.hpp"
#include "numeric/vectors.hpp"

namespace maxsieve {

Panels::Panels(const float* query, int64_t tokens, int64_t d)
    : tokens_(tokens), d_(d), data_(static_cast<size_t>(padded_tokens() * d)) {
    for (int64_t t = 0; t < tokens; ++t) {
        float* lane = data_.data() + t / kPanel * (kPanel * d) + t % kPanel;
        for (int64_t k = 0; k < d; ++k) lane[k * kPanel] = query[t * d + k];
    }
}

QueryCodes::QueryCodes(const Kernel& kernel, const float* query, int64_t tokens_in, int64_t d_in)
    : tokens(tokens_in), d(d_in), stride(code_stride(d_in)), codes(static_cast<size_t>(tokens_in * stride)) {
    scale.reserve(static_cast<size_t>(tokens));
    for (auto* bound : {&norm, &code_norm, &eta}) bound->reserve(static_cast<size_t>(tokens));
    for (int64_t t = 0; t < tokens; ++t) {
        const float* row = query + t * d;
        int8_t* row_codes = codes.data() + t * stride;
        DocumentSquares squares{};
        kernel.quantise(row, 1, d, stride, row_codes, &squares);
        scale.push_back(squares.scale);
        norm.push_back(norm_up(squares.norm, d));
        code_norm.push_back(norm_up(scaled_square(row_codes, stride, squares.scale), d));
        eta.push_back(norm_up(squares.residual, d));
    }
}

PackedCodes::PackedCodes(const Kernel& kernel, const std::vector<const int8_t*>& rows, int64_t stride)
    : tokens_(static_cast<int64_t>(rows.size())), data_(kernel.packed_bytes(tokens_, stride)) {
    std::vector<int8_t> chosen(rows.size() * static_cast<size_t>(stride));
    for (size_t n = 0; n < rows.size(); ++n) {
        std::memcpy(chosen.data() + n * static_cast<size_t>(stride), rows[n], static_cast<size_t>(stride));
    }
    kernel.pack(chosen.data(), tokens_, stride, data_.data());
}

ErrorTerms::ErrorTerms(const QueryCodes& query) {
    const double code_norms = lane_sum(query.code_norm.data(), query.tokens);
    const double norms = lane_sum(query.norm.data(), query.tokens);
    const double etas = lane_sum(query.eta.data(), query.tokens);
    const double evaluation = static_cast<double>(query.tokens + 8) * 0x1p-52;
    on_rho = code_norms * (1.0 + evaluation);
    on_nu = etas + static_cast<double>(query.d + 6) * 0x1p-24 * norms + evaluation * code_norms;
    constant = static_cast<double>(query.tokens * (query.d + 1)) * 0x1p-149;
}

}  // namespace maxsieve
