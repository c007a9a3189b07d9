#include "search/near_centroids.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "compiler.hpp"
#include "numeric/aligned_bytes.hpp"

namespace maxsieve {
namespace {

// A similarity and the centroid it is of, in one number: a larger one comes first, and of equal ones the first
// centroid.
uint32_t ordered_bits(float similarity) {
    const auto bits = std::bit_cast<uint32_t>(similarity + 0.0F);  // one zero, not two
    return bits ^ (static_cast<uint32_t>(static_cast<int32_t>(bits) >> 31) | 0x80000000U);
}
uint64_t key_of(float similarity, uint32_t centroid) {
    return static_cast<uint64_t>(ordered_bits(similarity)) << 32 | ~centroid;
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

// Dot products of all heads with some query tokens, [groups][lanes], and the largest of each block of heads.
class HeadDots {
  public:
    HeadDots(const Kernel& kernel, const Codebook& book, const QueryCodes& query, int64_t first, int64_t tokens)
        : groups_(book.groups),
          lanes_(strip_lanes(tokens)),
          dots_(std::make_unique_for_overwrite<int32_t[]>(static_cast<size_t>(groups_ * lanes_))) {
        const std::vector<int8_t> nothing(static_cast<size_t>(query.stride));
        std::vector<const int8_t*> rows(static_cast<size_t>(lanes_), nothing.data());
        for (int64_t t = 0; t < tokens; ++t) rows[static_cast<size_t>(t)] = query.row(first + t);
        const PackedCodes packed(kernel, rows, query.stride);
        AlignedBytes scratch(scratch_bytes(query.stride));
        kernel.dots(packed.data(), lanes_, query.stride, book.heads, groups_, dots_.get(), scratch.data());
        for (int64_t block = 0; block < groups_; block += kBlock) {
            const int32_t* row = dots_.get() + block * lanes_;
            largest_.insert(largest_.end(), row, row + lanes_);
            int32_t* const largest = largest_.data() + largest_.size() - lanes_;
            for (int64_t j = block + 1; j < end_of(block); ++j) {
                row += lanes_;
                for (int64_t t = 0; t < lanes_; ++t) largest[t] = row[t] > largest[t] ? row[t] : largest[t];
            }
        }
    }

    // The head with the largest dot product; of equal ones, the first. The next call gives the next one.
    int32_t take_largest(int64_t token) {
        int64_t best = 0;
        for (int64_t b = 0; b * kBlock < groups_; ++b) {
            if (largest_of(b, token) > largest_of(best, token)) best = b;
        }
        int32_t& largest = largest_of(best, token);
        int64_t found = best * kBlock;
        while (at(found, token) != largest) ++found;
        at(found, token) = largest = std::numeric_limits<int32_t>::min();  // below every dot product
        for (int64_t j = best * kBlock; j < end_of(best * kBlock); ++j) largest = std::max(largest, at(j, token));
        return static_cast<int32_t>(found);
    }

  private:
    static constexpr int64_t kBlock = 32;

    int64_t end_of(int64_t block) const { return std::min(block + kBlock, groups_); }
    int32_t& at(int64_t head, int64_t token) { return dots_[static_cast<size_t>(head * lanes_ + token)]; }
    int32_t& largest_of(int64_t block, int64_t token) { return largest_[static_cast<size_t>(block * lanes_ + token)]; }

    int64_t groups_, lanes_;
    std::unique_ptr<int32_t[]> dots_;
    std::vector<int32_t> largest_;
};

// The largest keys of some similarities, best first. By the distance from the largest of them, numbers fall into
// ranges, which puts them in order without a comparison. Then those of the best ranges are sorted: few in each.
class LargestKeys {
  public:
    // The first `count` keys; `centroid(i)` is that of similarity i, asked for in ascending order.
    template <class Centroid>
    void take(std::span<const float> similarities, size_t count, Centroid centroid, std::vector<uint64_t>& keys) {
        const size_t all = similarities.size();
        if (ranges_.size() < all) ranges_.resize(all), sorted_.resize(all);
        uint32_t most = 0;
        for (size_t i = 0; i < all; ++i) {
            ranges_[i] = ordered_bits(similarities[i]);
            most = ranges_[i] > most ? ranges_[i] : most;
        }
        // 64 ranges while a number halves; all below a sixteenth of the largest are in the last one
        for (size_t i = 0; i < all; ++i) {
            const uint32_t range = (most - ranges_[i]) >> 17;
            ranges_[i] = range < kRanges - 1 ? range : kRanges - 1;
        }
        std::array<uint32_t, kRanges> ends = {};  // first how many
        for (size_t i = 0; i < all; ++i) ++ends[ranges_[i]];
        uint32_t end = 0;
        for (uint32_t& one : ends) end += std::exchange(one, end);
        for (size_t i = 0; i < all; ++i) sorted_[ends[ranges_[i]]++] = key_of(similarities[i], centroid(i));
        for (size_t range = 0, first = 0; first < count; first = ends[range++]) {
            if (ends[range] - first > 1) std::sort(at(first), at(ends[range]), std::greater<>());
        }
        keys.assign(at(0), at(count));
    }

  private:
    static constexpr uint32_t kRanges = 256;

    std::vector<uint64_t>::iterator at(size_t i) { return sorted_.begin() + static_cast<std::ptrdiff_t>(i); }

    std::vector<uint32_t> ranges_;
    std::vector<uint64_t> sorted_;
};

// Bytes of a group that are fetched ahead: more would not stay in the nearest cache.
constexpr int64_t kMostFetched = 16384;

class Finder {
  public:
    Finder(const Kernel& kernel, const Codebook& book, const QueryCodes& query, const WalkShape& shape)
        : kernel_(kernel), book_(book), query_(query), shape_(shape), tokens_(static_cast<size_t>(query.tokens)) {
        for (int64_t t = 0; t < query.tokens; ++t) {
            tokens_[static_cast<size_t>(t)].codes.assign(query.row(t), query.row(t) + query.stride);
        }
    }

    const std::vector<Searching>& run(Crew& crew) {
        const auto count = static_cast<int64_t>(tokens_.size());
        crew.run((count + kStrip - 1) / kStrip, [&](int64_t strip, int) { open(strip * kStrip); });
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
                fetch_after(opened, static_cast<size_t>(i));
                score(opened[static_cast<size_t>(i)], dots);
            }
        });
        std::vector<LargestKeys> largest(static_cast<size_t>(crew.size()));
        crew.run(count, [&](int64_t t, int worker) {
            choose(tokens_[static_cast<size_t>(t)], largest[static_cast<size_t>(worker)]);
        });
        return tokens_;
    }

  private:
    int64_t size(int32_t group) const { return book_.starts[group + 1] - book_.starts[group]; }

    void open(int64_t first) {
        const int64_t count = std::min(kStrip, query_.tokens - first);
        HeadDots heads(kernel_, book_, query_, first, count);
        for (int64_t t = 0; t < count; ++t) {
            Searching& token = tokens_[static_cast<size_t>(first + t)];
            token.groups.resize(static_cast<size_t>(std::min(shape_.opened, book_.groups)));
            for (int32_t& group : token.groups) group = heads.take_largest(t);
            std::ranges::sort(token.groups);
            int64_t end = 0;
            for (const int32_t group : token.groups) token.ends.push_back(end += size(group));
            token.similarities.resize(static_cast<size_t>(end));
        }
    }

    // When a group is read for the first time, all members of the next one are fetched.
    void fetch_after(const std::vector<Opened>& opened, size_t i) const {
        const int32_t group = opened[i].group;
        if (i > 0 && opened[i - 1].group == group) return;
        const auto next = std::find_if(opened.begin() + static_cast<std::ptrdiff_t>(i), opened.end(),
                                       [&](const Opened& one) { return one.group != group; });
        if (next == opened.end()) return;
        const int8_t* const codes = book_.codes + book_.starts[next->group] * query_.stride;
        const int64_t bytes = std::min(kMostFetched, size(next->group) * query_.stride);
        for (int64_t line = 0; line < bytes; line += 64) MAXSIEVE_PREFETCH(codes + line);
    }

    void score(const Opened& one, std::vector<int32_t>& dots) {
        Searching& token = tokens_[one.token];
        const int64_t first = book_.starts[one.group], count = size(one.group), stride = query_.stride;
        dots.resize(static_cast<size_t>(count));
        kernel_.row_dots(token.codes.data(), stride, book_.codes + first * stride, count, dots.data());
        float* similarities = token.similarities.data() + token.ends[static_cast<size_t>(one.place)] - count;
        for (int64_t j = 0; j < count; ++j) {
            similarities[j] = static_cast<float>(dots[static_cast<size_t>(j)]) * book_.length[first + j];
        }
    }

    void choose(Searching& token, LargestKeys& largest) const {
        size_t place = 0;
        int64_t end = token.ends.front(), before = book_.starts[token.groups.front()];
        const auto centroid = [&](size_t i) {
            while (static_cast<int64_t>(i) >= end) {
                const int64_t first = token.ends[place++];
                end = token.ends[place];
                before = book_.starts[token.groups[place]] - first;
            }
            return static_cast<uint32_t>(before + static_cast<int64_t>(i));
        };
        const size_t count = std::min(static_cast<size_t>(shape_.near), token.similarities.size());
        largest.take(token.similarities, count, centroid, token.near);
    }

    const Kernel& kernel_;
    const Codebook& book_;
    const QueryCodes& query_;
    WalkShape shape_;
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
