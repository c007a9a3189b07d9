#include "search/radius.hpp"

#include <cmath>

#include "numeric/rounding.hpp"

namespace maxsieve {
namespace {

double finite_population(int64_t n, int64_t tokens) {
    const auto size = static_cast<double>(n), population = static_cast<double>(tokens);
    if (2 * n <= tokens) return 1.0 - static_cast<double>(n - 1) / population;
    return (1.0 - size / population) * (1.0 + 1.0 / size);
}

}  // namespace

RadiusFactors radius_factors(const BanditKnobs& knobs, int64_t n, int64_t tokens, int64_t candidates, int64_t rounds) {
    const double rho = finite_population(n, tokens);
    const auto size = static_cast<double>(n), population = static_cast<double>(tokens);
    const double spent = portable_log(knobs.delta);
    if (knobs.radius == Radius::paper) {
        const double confidence = portable_log(static_cast<double>(candidates * tokens)) - spent;
        return {knobs.alpha * population * std::sqrt(2.0 * confidence * rho / size), 0.0, n - 1};
    }
    const double kappa = 7.0 / 3.0 + 3.0 / std::sqrt(2.0);
    const double confidence = portable_log(static_cast<double>(10 * candidates * rounds)) - spent;
    const double slack = knobs.alpha * population * (1.0 + 0x1p-20);
    return {slack * std::sqrt(2.0 * rho * confidence / size), slack * kappa * confidence / size, n};
}

}  // namespace maxsieve
