#include "search/near_centroids.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include "codebook/first_places.hpp"
#include "compiler.hpp"

namespace maxsieve {
namespace {

// A similarity and the centroid it is of, in one number: a larger one comes first, and of equal ones the first
// centroid.
uint64_t key_of(float similarity, int64_t centroid) {
    const auto bits = std::bit_cast<uint32_t>(similarity + 0.0F);  // one zero, not two
    const uint32_t ordered = bits ^ (static_cast<uint32_t>(static_cast<int32_t>(bits) >> 31) | 0x80000000U);
    return static_cast<uint64_t>(ordered) << 32 | ~static_cast<uint32_t>(centroid);
}
uint32_t centroid_of(uint64_t key) {
    return ~static_cast<uint32_t>(key);
}
float similarity_of(uint64_t key) {
    const auto ordered = static_cast<uint32_t>(key >> 32);
    return std::bit_cast<float>((ordered >> 31) != 0 ? ordered ^ 0x80000000U : ~ordered);
}

// One query token on its way to its nearest centroids.
struct Searching {
    std::vector<int16_t> codes;
    std::vector<int32_t> groups;      // opened, ascending
    std::vector<int64_t> ends;        // of each group's members in the next
    std::vector<float> similarities;  // of the members of all these groups
    std::vector<uint64_t> near;       // keys, best first
};

// A group that a token has opened; `place` is its place among those of the token.
struct Opened {
    int32_t group;
    uint16_t token;
    int32_t place;
};

// The least and the largest of some numbers. Several chains of comparisons: one would wait for itself.
std::pair<float, float> extremes(std::span<const float> numbers) {
    constexpr size_t kChains = 4;
    float least[kChains], most[kChains];
    for (size_t l = 0; l < kChains; ++l) least[l] = most[l] = numbers.front();
    const auto compare = [&](size_t l, float one) {
        least[l] = one < least[l] ? one : least[l];
        most[l] = one > most[l] ? one : most[l];
    };
    size_t i = 0;
    for (; i + kChains <= numbers.size(); i += kChains) {
        MAXSIEVE_UNROLL
        for (size_t l = 0; l < kChains; ++l) compare(l, numbers[i + l]);
    }
    for (; i < numbers.size(); ++i) compare(0, numbers[i]);
    return {*std::ranges::min_element(least), *std::ranges::max_element(most)};
}

// The largest keys, best first. A similarity falls into one of many equal ranges between the least and the largest; by
// these, keys are put in order without a comparison. Then those of the best ranges are sorted, which are few in each.
class LargestKeys {
  public:
    LargestKeys(std::span<const float> similarities, int64_t count) : count_(count), keys_(similarities.size()) {
        const auto [least, most] = extremes(similarities);
        least_ = least;
        factor_ = static_cast<float>(kRanges - 1) / (most - least);
        if (!std::isfinite(factor_)) factor_ = 0.0F;
        for (const float one : similarities) ++next_[range_of(one)];
        int64_t end = 0;
        for (size_t range = kRanges; range-- > 0;) end += std::exchange(next_[range], end);
    }

    void add(float similarity, int64_t centroid) {
        keys_[static_cast<size_t>(next_[range_of(similarity)]++)] = key_of(similarity, centroid);
    }

    // After all of them have been added.
    std::vector<uint64_t> take() {
        int64_t first = 0;
        for (size_t range = kRanges; first < count_; first = next_[range]) {
            --range;  // which ends where the next one would be added
            std::sort(keys_.begin() + first, keys_.begin() + next_[range], std::greater<>());
        }
        keys_.resize(static_cast<size_t>(count_));
        return std::move(keys_);
    }

  private:
    static constexpr size_t kRanges = 256;

    // Rounding keeps the order: a larger similarity has the same range or a higher one.
    size_t range_of(float similarity) const {
        return static_cast<size_t>(static_cast<int32_t>((similarity - least_) * factor_));
    }

    int64_t count_;
    float least_, factor_;
    std::array<int64_t, kRanges> next_ = {};  // first how many
    std::vector<uint64_t> keys_;
};

class Finder {
  public:
    Finder(const Kernel& kernel, const Codebook& book, const QueryCodes& query, const WalkShape& shape)
        : kernel_(kernel),
          book_(book),
          shape_(shape),
          stride_(query.stride),
          tokens_(static_cast<size_t>(query.tokens)) {
        for (int64_t t = 0; t < query.tokens; ++t) {
            tokens_[static_cast<size_t>(t)].codes.assign(query.row(t), query.row(t) + stride_);
        }
    }

    const std::vector<Searching>& run(Crew& crew) {
        const auto count = static_cast<int64_t>(tokens_.size());
        crew.run(count, [&](int64_t t, int) { open(tokens_[static_cast<size_t>(t)]); });
        // Group by group, so that the members of one are read from memory once for all tokens that have opened it.
        std::vector<Opened> opened;
        for (int64_t t = 0; t < count; ++t) {
            const auto& groups = tokens_[static_cast<size_t>(t)].groups;
            for (size_t i = 0; i < groups.size(); ++i) {
                opened.push_back({groups[i], static_cast<uint16_t>(t), static_cast<int32_t>(i)});
            }
        }
        std::ranges::sort(opened, {}, [](const Opened& one) { return one.group; });
        constexpr int64_t kTogether = 16;
        const auto all = static_cast<int64_t>(opened.size());
        crew.run((all + kTogether - 1) / kTogether, [&](int64_t task, int) {
            std::vector<int32_t> dots;
            for (int64_t i = task * kTogether; i < std::min((task + 1) * kTogether, all); ++i) {
                score(opened[static_cast<size_t>(i)], dots);
            }
        });
        crew.run(count, [&](int64_t t, int) { choose(tokens_[static_cast<size_t>(t)]); });
        return tokens_;
    }

  private:
    int64_t size(int32_t group) const { return book_.starts[group + 1] - book_.starts[group]; }

    void open(Searching& token) const {
        std::vector<int32_t> dots(static_cast<size_t>(book_.groups));
        kernel_.row_dots(token.codes.data(), stride_, book_.heads, book_.groups, dots.data());
        token.groups.resize(static_cast<size_t>(std::min(shape_.opened, book_.groups)));
        first_places(kernel_, dots.data(), book_.groups, static_cast<int64_t>(token.groups.size()),
                     token.groups.data());
        std::ranges::sort(token.groups);
        int64_t end = 0;
        for (const int32_t group : token.groups) token.ends.push_back(end += size(group));
        token.similarities.resize(static_cast<size_t>(end));
    }

    void score(const Opened& one, std::vector<int32_t>& dots) {
        Searching& token = tokens_[one.token];
        const int64_t first = book_.starts[one.group], count = size(one.group);
        dots.resize(static_cast<size_t>(count));
        kernel_.row_dots(token.codes.data(), stride_, book_.codes + first * stride_, count, dots.data());
        float* similarities = token.similarities.data() + token.ends[static_cast<size_t>(one.place)] - count;
        for (int64_t j = 0; j < count; ++j) {
            similarities[j] = static_cast<float>(dots[static_cast<size_t>(j)]) * book_.length[first + j];
        }
    }

    void choose(Searching& token) const {
        LargestKeys largest(token.similarities, std::min(shape_.near, static_cast<int64_t>(token.similarities.size())));
        const float* similarity = token.similarities.data();
        for (const int32_t group : token.groups) {
            const int64_t end = book_.starts[group + 1];
            for (int64_t c = book_.starts[group]; c < end; ++c) largest.add(*similarity++, c);
        }
        token.near = largest.take();
    }

    const Kernel& kernel_;
    const Codebook& book_;
    WalkShape shape_;
    int64_t stride_;
    std::vector<Searching> tokens_;
};

}  // namespace

NearCentroids near_centroids(const Kernel& kernel, const Codebook& book, const QueryCodes& query,
                             const WalkShape& shape, Crew& crew) {
    Finder finder(kernel, book, query, shape);
    const std::vector<Searching>& tokens = finder.run(crew);
    NearCentroids found;
    // In float64, rounded after each operation, as the specification has it.
    const auto excess = [&](size_t t, uint64_t key) {
        const auto last = static_cast<double>(similarity_of(tokens[t].near.back()));
        return static_cast<double>(query.scale[t]) * (static_cast<double>(similarity_of(key)) - last);
    };
    double largest = 0.0;
    for (size_t t = 0; t < tokens.size(); ++t) {
        found.scored += book.groups + static_cast<int64_t>(tokens[t].similarities.size());
        largest = std::max(largest, excess(t, tokens[t].near.front()));
    }
    if (largest == 0.0) return found;
    const double step = static_cast<double>(kMostWalkedTokens / query.tokens) / largest;
    found.all.reserve(tokens.size() * static_cast<size_t>(shape.near));
    for (size_t t = 0; t < tokens.size(); ++t) {
        for (const uint64_t key : tokens[t].near) {
            const auto weight = static_cast<uint16_t>(excess(t, key) * step + 0.5);
            if (weight == 0) break;
            found.all.push_back({centroid_of(key), static_cast<uint16_t>(t + 1), weight});
        }
    }
    return found;
}

}  // namespace maxsieve
