#include "numeric/rounding.hpp"

#include <cmath>
#include <limits>

#include "numeric/vectors.hpp"

namespace maxsieve {

double lane_sum(const double* x, int64_t count) {
    F64x8 lanes = {};
    for (int64_t i = 0; i < count; i += kLanes) lanes += load_lanes<F64x8>(x + i, count - i);
    return fold(lanes);
}

double norm_up(double squares, int64_t d) {
    return std::sqrt(squares * (1.0 + static_cast<double>(d + 16) * 0x1p-52));
}

float up32(double x) {
    const float nearest = static_cast<float>(x);
    return static_cast<double>(nearest) < x ? std::nextafter(nearest, std::numeric_limits<float>::infinity()) : nearest;
}

double portable_log(double x) {
    int e = 0;
    double m = std::frexp(x, &e);
    if (m < 0.7071067811865476) {
        m *= 2.0;
        --e;
    }
    const double z = (m - 1.0) / (m + 1.0);
    const double square = z * z;
    double series = 0.0;
    for (int term = 11; term >= 0; --term) series = series * square + 1.0 / (2 * term + 1);
    return e * 0.6931471805599453 + 2.0 * z * series;
}

}  // namespace maxsieve
