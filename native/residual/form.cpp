#include "residual/form.hpp"

#include <cmath>

namespace maxsieve {

ResidualSteps residual_steps(int64_t d, int64_t bits) {
    const double largest = bits == 1 ? 1.25 : bits == 2 ? 0.55 : 0.25;
    const double root = std::sqrt(static_cast<double>(d));
    ResidualSteps steps{static_cast<float>(1.2 / 255.0), static_cast<float>(largest / root / 255.0), 0};
    const double entry =
        127.0 * root * kLongestCentroid * static_cast<double>(steps.length) / static_cast<double>(steps.scale);
    while (entry > 32760.0 * static_cast<double>(int64_t{1} << steps.shift)) ++steps.shift;
    return steps;
}

}  // namespace maxsieve
