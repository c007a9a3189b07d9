#include "search/query.hpp"

#include <algorithm>
#include <cstring>

#include "numeric/rounding.hpp"
#include "numeric/vectors.hpp"
#include "residual/form.hpp"

namespace maxsieve {

Panels::Panels(const float* query, int64_t tokens, int64_t d)
    : tokens_(tokens), d_(d), data_(static_cast<size_t>(padded_tokens() * d)) {
    for (int64_t t = 0; t < tokens; ++t) {
        float* lane = data_.data() + t / kPanel * (kPanel * d) + t % kPanel;
        for (int64_t k = 0; k < d; ++k) lane[k * kPanel] = query[t * d + k];
    }
}

QueryCodes::QueryCodes(const Kernel& kernel, const float* query, int64_t tokens_in, int64_t d_in, int64_t residual_bits)
    : tokens(tokens_in),
      d(d_in),
      stride(code_stride(d_in)),
      codes(static_cast<size_t>(tokens_in * stride)),
      step(static_cast<size_t>(tokens_in), 1.0F),
      step_error(static_cast<size_t>(tokens_in), 0.0) {
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
    if (residual_bits != 1 && residual_bits != 2) return;
    std::vector<uint8_t> tables(static_cast<size_t>(sign_tables(d) * 16));
    for (int64_t t = 0; t < tokens; ++t) {
        const SignTables made = kernel.sign_tables(row(t), d, tables.data());
        step[static_cast<size_t>(t)] = made.step, step_error[static_cast<size_t>(t)] = made.error;
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

std::vector<double> step_weights(const QueryCodes& query, int64_t residual_bits) {
    std::vector<double> weights(query.scale.begin(), query.scale.end());
    if (residual_bits == 0) return weights;
    const auto step = static_cast<double>(residual_steps(query.d, residual_bits).scale);
    for (size_t t = 0; t < weights.size(); ++t) weights[t] = weights[t] * static_cast<double>(query.step[t]) * step;
    return weights;
}

ErrorTerms::ErrorTerms(const QueryCodes& query, int64_t residual_bits)
    : cell_on_rho(*std::ranges::max_element(query.code_norm)), cell_on_nu(*std::ranges::max_element(query.eta)) {
    const double code_norms = lane_sum(query.code_norm.data(), query.tokens);
    const double norms = lane_sum(query.norm.data(), query.tokens);
    const double etas = lane_sum(query.eta.data(), query.tokens);
    const double evaluation = static_cast<double>(query.tokens + (residual_bits == 0 ? 8 : 9)) * 0x1p-52;
    const double chains = static_cast<double>(query.d + 6) * 0x1p-24 * norms;
    constant = static_cast<double>(query.tokens * (query.d + 1)) * 0x1p-149;
    if (residual_bits == 0) {
        on_rho = code_norms * (1.0 + evaluation);
        on_nu = etas + chains + evaluation * code_norms;
        return;
    }
    const std::vector<double> weights = step_weights(query, residual_bits);
    const ResidualSteps steps = residual_steps(query.d, residual_bits);
    const auto rounded = static_cast<double>(int64_t{128} << steps.shift);
    std::vector<double> lost(query.scale.begin(), query.scale.end());
    for (size_t t = 0; t < lost.size(); ++t) lost[t] *= query.step_error[t];
    const double levels = static_cast<double>((1 << residual_bits) - 1) * static_cast<double>(steps.scale);
    on_rho = lane_sum(weights.data(), query.tokens) * rounded * (1.0 + evaluation) + 50.0 * 0x1p-24 * code_norms;
    on_factor = lane_sum(lost.data(), query.tokens) * levels * (1.0 + evaluation);
    on_nu = etas + chains + (8.0 * 0x1p-24 + evaluation) * code_norms;
    constant += (norms + code_norms) * (static_cast<double>(query.d) * 0x1p-146);
    cell_on_nu += 8.0 * 0x1p-24 * cell_on_rho;
    cell_on_rho = *std::ranges::max_element(weights) * rounded + 50.0 * 0x1p-24 * cell_on_rho;
    cell_on_factor = *std::ranges::max_element(lost) * levels;
}

}  // namespace maxsieve
