#include "residual/encode.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "numeric/rounding.hpp"
#include "numeric/vectors.hpp"
#include "residual/form.hpp"

namespace maxsieve {
namespace {

constexpr float kTiniestScale = 0x1p-100F;

double sum_of_squares(const float* row, int64_t d) {
    F64x8 lanes = {};
    for (int64_t k = 0; k < d; k += kLanes) {
        const F64x8 wide = MAXSIEVE_CONVERT(load_lanes<F32x8>(row + k, d - k), F64x8);
        lanes += wide * wide;
    }
    return fold(lanes);
}

// The lane sum of products.
double dot_of(const std::vector<double>& a, const std::vector<double>& b) {
    F64x8 lanes = {};
    for (size_t k = 0; k < a.size(); k += kLanes) {
        lanes += load_lanes<F64x8>(a.data() + k, kLanes) * load_lanes<F64x8>(b.data() + k, kLanes);
    }
    return fold(lanes);
}

uint8_t to_factor(double x) {
    return static_cast<uint8_t>(std::min(std::nearbyint(x), 255.0));
}

}  // namespace

ResidualEncoder::ResidualEncoder(const Kernel& kernel, const Codebook& book, int64_t bits)
    : kernel_(kernel), book_(book), bits_(bits), steps_(residual_steps(book.d, bits)) {
    const auto whole = static_cast<size_t>((book.d + kLanes - 1) / kLanes * kLanes);
    for (auto* numbers : {&centre_, &residual_, &level_}) numbers->assign(whole, 0.0);
}

ResidualEncoder::Bounds ResidualEncoder::encode(const float* rows, const uint16_t* centroids, int64_t length,
                                                uint8_t* levels, uint8_t* factors) {
    const int64_t d = book_.d, bytes = level_bytes(d, bits_);
    std::memset(levels, 0, static_cast<size_t>(length * bytes));
    std::memset(factors, 0, static_cast<size_t>(2 * length));
    double longest = 0.0;
    for (int64_t j = 0; j < length; ++j) longest = std::max(longest, std::sqrt(sum_of_squares(rows + j * d, d)));
    const auto scale = static_cast<float>(longest);
    const bool zero = scale < kTiniestScale;
    for (int64_t j = 0; j < length; ++j) {
        const double norm = zero ? 0.0 : std::sqrt(sum_of_squares(rows + j * d, d));
        encode_row(rows + j * d, norm, static_cast<double>(scale), centroids[j], levels + j * bytes, factors + 2 * j);
    }
    if (zero) return {0.0F, 0.0F};
    decoded_.resize(static_cast<size_t>(d));
    double largest = 0.0;
    const ResidualView view{.d = d,
                            .bits = bits_,
                            .steps = steps_,
                            .centroid_codes = book_.codes,
                            .centroid_scale = book_.scale,
                            .mask = static_cast<uint32_t>(book_.centroids - 1)};
    for (int64_t j = 0; j < length; ++j) {
        kernel_.decode_residual(view, {levels + j * bytes, factors + 2 * j, centroids + j, 1}, scale, decoded_.data());
        largest = std::max(largest, sum_of_squares(decoded_.data(), d));
    }
    return {scale, up32(norm_up(largest, d))};
}

void ResidualEncoder::encode_row(const float* row, double norm, double scale, int64_t centroid, uint8_t* levels,
                                 uint8_t* factors) {
    const int64_t d = book_.d, half = int64_t{1} << (bits_ - 1);
    const auto put = [&](int64_t k, int64_t level) {  // level: 0 to 2^bits - 1
        if (bits_ == 4) {
            levels[k / 2] |= static_cast<uint8_t>(level << (k % 2 * 4));
            return;
        }
        const int64_t plane = (d + 7) / 8;
        for (int64_t p = 0; p < bits_; ++p) {
            levels[p * plane + k / 8] |= static_cast<uint8_t>((level >> (bits_ - 1 - p) & 1) << (k % 8));
        }
    };
    if (norm == 0.0) {  // the row decodes to zero, with levels of +1
        for (int64_t k = 0; k < d; ++k) put(k, half);
        return;
    }
    const int8_t* codes = book_.codes + centroid * code_stride(d);
    const double inverse = 1.0 / norm, unit = static_cast<double>(book_.scale);
    for (int64_t k = 0; k < d; ++k) {
        centre_[static_cast<size_t>(k)] = unit * static_cast<double>(codes[k]);
        residual_[static_cast<size_t>(k)] = static_cast<double>(row[k]) * inverse - centre_[static_cast<size_t>(k)];
    }
    const double square = dot_of(residual_, residual_);
    const double clip = bits_ == 1 ? 1.0 : bits_ == 2 ? 1.7 : 2.6;
    const double step = clip * std::sqrt(square * (1.0 / static_cast<double>(d))) * (1.0 / static_cast<double>(half));
    const double per_step = step > 0.0 ? 1.0 / step : 0.0;
    const auto lowest = static_cast<double>(-half), highest = static_cast<double>(half - 1);
    for (int64_t k = 0; k < d; ++k) {
        const double place = residual_[static_cast<size_t>(k)] * per_step;
        const double level = std::floor(std::min(std::max(place, lowest), static_cast<double>(half)));
        const double kept = std::min(level, highest);
        level_[static_cast<size_t>(k)] = 2.0 * kept + 1.0;
        put(k, static_cast<int64_t>(kept) + half);
    }
    const double along = dot_of(residual_, level_);
    const double w = along > 0.0 ? square / along : 0.0;
    for (int64_t k = 0; k < d; ++k) {
        residual_[static_cast<size_t>(k)] = centre_[static_cast<size_t>(k)] + w * level_[static_cast<size_t>(k)];
    }
    for (int64_t k = 0; k < d; ++k) level_[static_cast<size_t>(k)] = static_cast<double>(row[k]) * inverse;
    const double toward = dot_of(level_, residual_), most = 255.0 * static_cast<double>(steps_.length);
    const double a = toward > 0.0 ? std::min(norm / scale / toward, most) : 0.0;
    factors[0] = to_factor(a / static_cast<double>(steps_.length));
    factors[1] = to_factor(a * w / static_cast<double>(steps_.scale));
}

}  // namespace maxsieve
