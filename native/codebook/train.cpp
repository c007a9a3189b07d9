#include "codebook/train.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "codebook/assign.hpp"
#include "numeric/aligned_bytes.hpp"
#include "numeric/permutation.hpp"
#include "numeric/vectors.hpp"

namespace maxsieve {
namespace {

constexpr int kHeadRounds = 6, kGroupRounds = 4, kPolishRounds = 2;

// Fixed-point weights: 2^20 / |x| for codes x, so that weighted codes have a length of about 2^20. A sum of 2^31 of
// them stays below 2^58.
constexpr double kUnit = 0x1p20;

struct Directions {
    std::vector<int8_t> codes;  // [count][stride]
    float scale = 0.0F;
};

// Scales sums [count][stride] to unit length, and writes them as codes with one common scale. A zero sum gives zero
// codes.
Directions to_codes(const std::vector<int64_t>& sums, int64_t count, int64_t stride) {
    std::vector<double> norms(static_cast<size_t>(count));
    double largest = 0.0;
    for (int64_t c = 0; c < count; ++c) {
        const int64_t* row = sums.data() + c * stride;
        F64x8 lanes = {};
        double most = 0.0;
        for (int64_t k = 0; k < stride; ++k) {
            const auto number = static_cast<double>(row[k]);
            lanes[k % kLanes] += number * number;
            most = std::max(most, std::fabs(number));
        }
        const double norm = norms[static_cast<size_t>(c)] = std::sqrt(fold(lanes));
        if (norm > 0.0) largest = std::max(largest, most / norm);
    }
    Directions directions{std::vector<int8_t>(sums.size()), static_cast<float>(largest / 127.0)};
    if (directions.scale == 0.0F) return directions;
    const auto scale = static_cast<double>(directions.scale);
    for (int64_t c = 0; c < count; ++c) {
        const double norm = norms[static_cast<size_t>(c)];
        if (norm == 0.0) continue;
        for (int64_t i = c * stride; i < (c + 1) * stride; ++i) {
            const double unit = static_cast<double>(sums[static_cast<size_t>(i)]) / norm;
            const double code = std::nearbyint(unit / scale);
            directions.codes[static_cast<size_t>(i)] = static_cast<int8_t>(std::clamp(code, -127.0, 127.0));
        }
    }
    return directions;
}

// A sample of tokens, with the weights that give them unit length.
class Weighted {
  public:
    Weighted(const Sample& sample) : sample(sample), stride(code_stride(sample.d)) {
        weight.reserve(static_cast<size_t>(sample.tokens));
        for (int64_t j = 0; j < sample.tokens; ++j) {
            int64_t square = 0;
            for (int64_t k = 0; k < stride; ++k) square += int64_t{row(j)[k]} * row(j)[k];
            norm.push_back(std::sqrt(static_cast<double>(square)));
            weight.push_back(square == 0 ? 0 : static_cast<int64_t>(std::nearbyint(kUnit / norm.back())));
        }
    }

    const int8_t* row(int64_t token) const { return sample.codes + token * stride; }

    // Adds a token at unit length.
    void add_to(int64_t* sum, int64_t token) const {
        const int64_t w = weight[static_cast<size_t>(token)];
        const int8_t* codes = row(token);
        for (int64_t k = 0; k < stride; ++k) sum[k] += w * codes[k];
    }

    const Sample& sample;
    int64_t stride;
    std::vector<int64_t> weight;
    std::vector<double> norm;
};

// Tokens sorted by the place they were assigned to: those of place p are order[starts[p]] to order[starts[p + 1] - 1].
struct Members {
    template <class Place>
    Members(const std::vector<Place>& places, int64_t count)
        : starts(static_cast<size_t>(count) + 1, 0), order(places.size()) {
        for (const Place place : places) ++starts[static_cast<size_t>(place) + 1];
        std::partial_sum(starts.begin(), starts.end(), starts.begin());
        std::vector<int64_t> next(starts.begin(), starts.end() - 1);
        for (size_t j = 0; j < places.size(); ++j) {
            order[static_cast<size_t>(next[static_cast<size_t>(places[j])]++)] = static_cast<int64_t>(j);
        }
    }

    std::span<const int64_t> of(int64_t place) const {
        const auto first = static_cast<size_t>(starts[static_cast<size_t>(place)]);
        return {order.data() + first, static_cast<size_t>(starts[static_cast<size_t>(place) + 1]) - first};
    }

    std::vector<int64_t> starts, order;
};

// The sum of the tokens of each place. A place without tokens starts again from one token of the sample.
std::vector<int64_t> sums_of(const Weighted& tokens, const Members& members, int64_t count,
                             std::span<const int64_t> spare, Crew& crew) {
    std::vector<int64_t> sums(static_cast<size_t>(count * tokens.stride));
    constexpr int64_t kSome = 64;
    crew.run((count + kSome - 1) / kSome, [&](int64_t task, int) {
        for (int64_t p = task * kSome; p < std::min((task + 1) * kSome, count); ++p) {
            int64_t* sum = sums.data() + p * tokens.stride;
            for (const int64_t token : members.of(p)) tokens.add_to(sum, token);
            if (members.of(p).empty()) tokens.add_to(sum, spare[static_cast<size_t>(p) % spare.size()]);
        }
    });
    return sums;
}

// The nearest of `count` directions for each chosen token, by comparison with all of them. Of equal ones, the first.
std::vector<int32_t> nearest(const Kernel& kernel, const Directions& to, int64_t count, int64_t stride,
                             const int8_t* codes, std::span<const int64_t> chosen, Crew* crew) {
    const int64_t lanes = (count + kPanel - 1) / kPanel * kPanel;
    std::vector<int8_t> padded(static_cast<size_t>(lanes * stride));
    std::copy(to.codes.begin(), to.codes.end(), padded.begin());
    AlignedBytes packed(kernel.packed_bytes(lanes, stride));
    kernel.pack(padded.data(), lanes, stride, packed.data());
    std::vector<int32_t> places(chosen.size());
    constexpr int64_t kBatch = 64;
    const auto total = static_cast<int64_t>(chosen.size());
    const auto work = [&](int64_t task, int) {
        const int64_t first = task * kBatch, rows = std::min(kBatch, total - first);
        std::vector<int8_t> gathered(static_cast<size_t>(rows * stride));
        for (int64_t j = 0; j < rows; ++j) {
            const int8_t* row = codes + chosen[static_cast<size_t>(first + j)] * stride;
            std::copy(row, row + stride, gathered.begin() + j * stride);
        }
        std::vector<int32_t> dots(static_cast<size_t>(rows * lanes)), largest(static_cast<size_t>(rows));
        AlignedBytes scratch(scratch_bytes(stride));
        kernel.dots(packed.data(), lanes, stride, gathered.data(), rows, dots.data(), scratch.data());
        kernel.first_largest(dots.data(), lanes, count, rows, largest.data(), places.data() + first);
    };
    const int64_t tasks = (total + kBatch - 1) / kBatch;
    if (crew != nullptr) {
        crew->run(tasks, work);
    } else {
        for (int64_t task = 0; task < tasks; ++task) work(task, 0);
    }
    return places;
}

// k-means of some tokens, all directions compared with all. `first` are the tokens it starts from, in turn.
Directions cluster(const Weighted& tokens, std::span<const int64_t> chosen, std::span<const int64_t> first,
                   int64_t count, int rounds, const Kernel& kernel, Crew* crew) {
    std::vector<int64_t> sums(static_cast<size_t>(count * tokens.stride));
    for (int64_t p = 0; p < count; ++p) {
        tokens.add_to(sums.data() + p * tokens.stride, first[static_cast<size_t>(p) % first.size()]);
    }
    Directions directions = to_codes(sums, count, tokens.stride);
    for (int round = 0; round < rounds; ++round) {
        const std::vector<int32_t> places =
            nearest(kernel, directions, count, tokens.stride, tokens.sample.codes, chosen, crew);
        std::fill(sums.begin(), sums.end(), 0);
        std::vector<bool> chosen_by(static_cast<size_t>(count));
        for (size_t j = 0; j < chosen.size(); ++j) {
            tokens.add_to(sums.data() + places[j] * tokens.stride, chosen[j]);
            chosen_by[static_cast<size_t>(places[j])] = true;
        }
        for (int64_t p = 0; p < count; ++p) {
            if (chosen_by[static_cast<size_t>(p)]) continue;
            const auto again = static_cast<size_t>(p + round + 1) % first.size();
            tokens.add_to(sums.data() + p * tokens.stride, first[again]);
        }
        directions = to_codes(sums, count, tokens.stride);
    }
    return directions;
}

// How many of the `centroids` each group gets: one, and a share of the others in proportion to its tokens. The largest
// remainders are rounded up.
std::vector<int64_t> shares(const Members& members, int64_t groups, int64_t tokens, int64_t centroids) {
    std::vector<int64_t> share(static_cast<size_t>(groups), 1), order(static_cast<size_t>(groups));
    std::iota(order.begin(), order.end(), 0);
    std::vector<int64_t> remainder(static_cast<size_t>(groups));
    int64_t left = centroids - groups;
    const int64_t others = left;
    for (int64_t g = 0; g < groups; ++g) {
        const int64_t product = static_cast<int64_t>(members.of(g).size()) * others;
        share[static_cast<size_t>(g)] += product / tokens;
        remainder[static_cast<size_t>(g)] = product % tokens;
        left -= product / tokens;
    }
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return remainder[static_cast<size_t>(a)] > remainder[static_cast<size_t>(b)];
    });
    for (int64_t i = 0; i < left; ++i) ++share[static_cast<size_t>(order[static_cast<size_t>(i)])];
    return share;
}

}  // namespace

CodebookShape CodebookShape::of_tier0(int64_t centroids) {
    const int64_t groups = int64_t{1} << (std::bit_width(static_cast<uint64_t>(centroids)) - 1) / 2;
    return {groups, centroids, kProbes, std::numeric_limits<int64_t>::max() / groups};
}

TrainedCodebook::TrainedCodebook(const Sample& sample, const CodebookShape& shape, uint64_t seed, const Kernel& kernel,
                                 Crew& crew)
    : d_(sample.d) {
    const Weighted tokens(sample);
    const int64_t stride = tokens.stride, groups = shape.groups, centroids = shape.centroids;
    const std::vector<int64_t> shuffled = permutation(sample.tokens, seed);
    std::vector<int64_t> all(static_cast<size_t>(sample.tokens));
    std::iota(all.begin(), all.end(), 0);

    const std::span<const int64_t> some(shuffled.data(),
                                        std::min(shuffled.size(), static_cast<size_t>(shape.head_sample * groups)));
    Directions top = cluster(tokens, some, some, groups, kHeadRounds, kernel, &crew);
    const Members members(nearest(kernel, top, groups, stride, sample.codes, all, &crew), groups);
    heads = std::move(top.codes);
    starts.assign(1, 0);
    for (const int64_t share : shares(members, groups, sample.tokens, centroids))
        starts.push_back(starts.back() + share);

    std::vector<int64_t> sums(static_cast<size_t>(centroids * stride));
    crew.run(groups, [&](int64_t g, int) {
        const int64_t first = starts[static_cast<size_t>(g)], count = starts[static_cast<size_t>(g) + 1] - first;
        std::vector<int64_t> own;
        for (const int64_t token : members.of(g)) own.push_back(token);
        if (own.empty()) own.push_back(shuffled[static_cast<size_t>(g) % shuffled.size()]);
        std::vector<int64_t> from = permutation(static_cast<int64_t>(own.size()), seed + 1 + static_cast<uint64_t>(g));
        for (int64_t& place : from) place = own[static_cast<size_t>(place)];
        const Directions inner = cluster(tokens, own, from, count, kGroupRounds, kernel, nullptr);
        const double unit = static_cast<double>(inner.scale) * kUnit;
        for (int64_t i = 0; i < count * stride; ++i) {
            sums[static_cast<size_t>(first * stride + i)] =
                static_cast<int64_t>(std::nearbyint(static_cast<double>(inner.codes[static_cast<size_t>(i)]) * unit));
        }
    });

    std::vector<uint32_t> ids(static_cast<size_t>(sample.tokens));
    for (int round = 0;; ++round) {
        Directions directions = to_codes(sums, centroids, stride);
        codes = std::move(directions.codes), scale = directions.scale;
        length.assign(static_cast<size_t>(centroids), 1.0F);
        Assigner(kernel, view(), shape.probes).assign(sample.codes, sample.tokens, ids.data(), crew);
        if (round == kPolishRounds) break;
        sums = sums_of(tokens, Members(ids, centroids), centroids, shuffled, crew);
    }

    const Members last(ids, centroids);
    const auto length_of = [&](int64_t j) {
        return tokens.norm[static_cast<size_t>(j)] * static_cast<double>(sample.scale[j]);
    };
    double total = 0.0;
    for (int64_t j = 0; j < sample.tokens; ++j) total += length_of(j);
    for (int64_t c = 0; c < centroids; ++c) {
        double sum = 0.0;
        for (const int64_t token : last.of(c)) sum += length_of(token);
        const auto count = static_cast<double>(last.of(c).size());
        length[static_cast<size_t>(c)] =
            static_cast<float>(count > 0.0 ? sum / count : total / static_cast<double>(sample.tokens));
    }
}

Codebook TrainedCodebook::view() const {
    return {.d = d_,
            .groups = static_cast<int64_t>(starts.size()) - 1,
            .centroids = static_cast<int64_t>(length.size()),
            .heads = heads.data(),
            .starts = starts.data(),
            .codes = codes.data(),
            .scale = scale,
            .length = length.data(),
            .longest = *std::max_element(length.begin(), length.end())};
}

}  // namespace maxsieve
