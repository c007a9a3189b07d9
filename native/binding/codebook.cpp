#include "binding/codebook.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "binding/interruptible.hpp"
#include "codebook/assign.hpp"
#include "codebook/train.hpp"
#include "kernels/table.hpp"
#include "residual/form.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace maxsieve {
namespace {

// The centroid of each token with codes [tokens, padded d].
Array<uint16_t> assign(const HeldCodebook& held, const Matrix<const int8_t>& codes, int threads) {
    const Codebook& book = held.view();
    require(book.centroids <= Codebook::kMostOfTier0, "two bytes name at most 65,536 centroids");
    require(static_cast<int64_t>(codes.shape(1)) == code_stride(book.d), "codes must be [tokens, padded d]");
    require(threads >= 1, "threads must be at least 1");
    const size_t tokens = codes.shape(0);
    std::vector<uint16_t> names(tokens);
    interruptible([&](Interrupt& interrupt) {
        Crew crew(threads, interrupt);
        std::vector<uint32_t> ids(tokens);
        Assigner(current_kernel(), book, kProbes).assign(codes.data(), static_cast<int64_t>(tokens), ids.data(), crew);
        std::ranges::transform(ids, names.begin(), [](uint32_t id) { return static_cast<uint16_t>(id); });
    });
    return to_numpy(std::move(names), {tokens});
}

// Tokens of the sample for each group that heads of a fine codebook are learned from.
constexpr int64_t kHeadSample = 128;

// Heads, starts, codes, scale and length of a codebook learned from codes [tokens, padded d], each with its scale.
using TrainedArrays = Tuple<Array<int8_t>, Array<int64_t>, Array<int8_t>, float, Array<float>>;
TrainedArrays train(int64_t d, const Matrix<const int8_t>& codes, const Flat<const float>& scale, int64_t centroids,
                    uint64_t seed, int threads, int64_t groups, int64_t probes) {
    require(d >= 1 && code_stride(d) <= kMaxStride, "a vector has 1 to 4096 dimensions");
    require(static_cast<int64_t>(codes.shape(1)) == code_stride(d), "codes must be [tokens, padded d]");
    require(codes.shape(0) >= 1 && scale.shape(0) == codes.shape(0), "a scale for each token, and at least one token");
    require(centroids >= 1 && centroids <= Codebook::kMostCentroids &&
                std::has_single_bit(static_cast<uint64_t>(centroids)),
            "centroids must be a power of two, at most 1,048,576");
    require(groups >= 0 && groups <= centroids, "groups must not outnumber centroids; 0 is the shape of tier 0");
    require(probes >= 1 && probes <= kProbes, "probes must be 1 to 8");
    require(threads >= 1, "threads must be at least 1");
    const CodebookShape shape =
        groups == 0 ? CodebookShape::of_tier0(centroids) : CodebookShape{groups, centroids, probes, kHeadSample};
    const Sample sample{d, static_cast<int64_t>(codes.shape(0)), codes.data(), scale.data()};
    TrainedCodebook made = interruptible([&](Interrupt& interrupt) {
        Crew crew(threads, interrupt);
        return TrainedCodebook(sample, shape, seed, current_kernel(), crew);
    });
    const size_t made_groups = made.starts.size() - 1, count = made.length.size(), stride = codes.shape(1);
    return nb::make_tuple(
        to_numpy(std::move(made.heads), {made_groups, stride}), to_numpy(std::move(made.starts), {made_groups + 1}),
        to_numpy(std::move(made.codes), {count, stride}), made.scale, to_numpy(std::move(made.length), {count}));
}

}  // namespace

HeldCodebook::HeldCodebook(int64_t d, Matrix<const int8_t> heads, Flat<const int64_t> starts,
                           Matrix<const int8_t> codes, float scale, Flat<const float> length)
    : heads_(std::move(heads)), starts_(std::move(starts)), codes_(std::move(codes)), length_(std::move(length)) {
    require(d >= 1 && code_stride(d) <= kMaxStride, "a vector has 1 to 4096 dimensions");
    const auto groups = static_cast<int64_t>(heads_.shape(0)), centroids = static_cast<int64_t>(codes_.shape(0));
    require(centroids >= 1 && centroids <= Codebook::kMostCentroids &&
                std::has_single_bit(static_cast<uint64_t>(centroids)),
            "centroids must be a power of two, at most 1,048,576");
    for (const auto* matrix : {&heads_, &codes_}) {
        require(static_cast<int64_t>(matrix->shape(1)) == code_stride(d), "codes must be [centroids, padded d]");
    }
    require(groups >= 1 && static_cast<int64_t>(starts_.shape(0)) == groups + 1,
            "one start for each group, and the end");
    const int64_t* start = starts_.data();
    require(start[0] == 0 && start[groups] == centroids, "groups must run from 0 to the number of centroids");
    for (int64_t g = 0; g < groups; ++g) require(start[g] < start[g + 1], "no group may be empty");
    require(static_cast<int64_t>(length_.shape(0)) == centroids, "one length for each centroid");
    const auto valid = [](float x) { return std::isfinite(x) && x >= 0.0F && x <= 0x1p60F; };
    require(valid(scale) && std::all_of(length_.data(), length_.data() + centroids, valid),
            "scale and lengths must be finite and not negative");
    view_ = {.d = d,
             .groups = groups,
             .centroids = centroids,
             .heads = heads_.data(),
             .starts = start,
             .codes = codes_.data(),
             .scale = scale,
             .length = length_.data(),
             .longest = *std::max_element(length_.data(), length_.data() + centroids)};
}

// Codes are compared as integers: |codes| <= longest / scale. The sum is below 127^2 * 4096 < 2^27.
bool HeldCodebook::serves_residuals() const {
    if (serves_residuals_) return *serves_residuals_;
    int32_t largest = 0;
    const int64_t stride = code_stride(view_.d);
    for (int64_t c = 0; c < view_.centroids; ++c) {
        int32_t square = 0;
        for (int64_t k = 0; k < stride; ++k) square += view_.codes[c * stride + k] * view_.codes[c * stride + k];
        largest = std::max(largest, square);
    }
    const double longest = std::sqrt(static_cast<double>(largest)) * static_cast<double>(view_.scale);
    serves_residuals_ = view_.centroids <= Codebook::kMostOfTier0 && longest <= kLongestCentroid;
    return *serves_residuals_;
}

void bind_codebook(nb::module_& m) {
    nb::class_<HeldCodebook>(m, "Codebook")
        .def(nb::init<int64_t, Matrix<const int8_t>, Flat<const int64_t>, Matrix<const int8_t>, float,
                      Flat<const float>>(),
             "dim"_a, "heads"_a, "starts"_a, "codes"_a, "scale"_a, "length"_a);
    m.def("assign", &assign, "codebook"_a, "codes"_a, "threads"_a);
    m.def("train", &train, "dim"_a, "codes"_a, "scale"_a, "centroids"_a, "seed"_a, "threads"_a, "groups"_a = 0,
          "probes"_a = kProbes);
}

}  // namespace maxsieve
