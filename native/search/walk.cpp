// Documents are walked in blocks, each of which has 4 bytes a document that stay in a cache of 256 KiB: the sum of
// weights in the upper two bytes, the query token that was added last in the lower two. A document gets the largest
// weight that a query token gives it, in one of two ways, which add the same:
//
// - Few members: lists are read best first, so that the first weight a document gets from a token is the largest. Later
//   ones are not added.
// - Many members: lists are read best last, and each overwrites what the document had: 2 bytes a document that are
//   added to all sums afterwards. That takes one store for each member, and no sum is waited for.
//
// Overflow: a query of T tokens has weights of at most 65535 / T. A document gets at most one for each token.
//
// Bounds: a member is cut to the memory, so that a damaged file adds to a wrong document, never to another's memory.

#include "search/walk.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <span>

#include "compiler.hpp"
#include "search/stopwatch.hpp"

namespace maxsieve {
namespace {

// A list to be walked: where its members begin, for each block, and what they get.
struct Walked {
    const uint32_t* starts;
    uint16_t token, weight;
};

// Lists of a part by query token, and whether they have many members.
struct WalkedLists {
    std::vector<Walked> all;
    bool many = false;
};

// A block of a part, and the position of its first document.
struct Block {
    const ListPart* part;
    const WalkedLists* lists;
    int64_t number, first, documents;
};

// What a thread keeps from block to block.
struct Sums {
    std::vector<uint32_t> numbers;  // a power of two
    std::vector<uint16_t> cells;    // as many, if lists have many members
    int64_t postings = 0;
};

// From so many documents for each member on, it costs more to add to the sums of all than to look at those of members.
constexpr int64_t kFewMembers = 16;

// The lists that a query walks in a part. Counts decide in which way: nothing of the lists is read.
WalkedLists lists_of(const ListPart& part, const NearCentroids& near, int64_t tokens) {
    WalkedLists lists;
    for (const NearCentroid& one : near.all) {
        const auto list = part.list_of(one.centroid);
        if (list) lists.all.push_back({part.starts(*list), one.token, one.weight});
    }
    const double members = static_cast<double>(lists.all.size()) * part.mean_members();
    lists.many = members * kFewMembers >= static_cast<double>(tokens * std::min(part.block(), part.documents()));
    if (!lists.many) return lists;
    for (auto first = lists.all.begin(); first != lists.all.end();) {
        const auto end =
            std::find_if(first, lists.all.end(), [&](const Walked& one) { return one.token != first->token; });
        std::reverse(first, end);
        first = end;
    }
    return lists;
}

// How far ahead starts and members are fetched: lists are short and far apart.
constexpr size_t kStartsAhead = 32, kMembersAhead = 16;

// add(list, members) for all lists of a block. Returns the number of members.
template <class Add>
int64_t for_each_list(const Block& block, const Add& add) {
    const auto b = block.number;
    const std::span<const Walked> lists = block.lists->all;
    const uint16_t* const members = block.part->members();
    int64_t postings = 0;
    for (size_t i = 0; i < lists.size(); ++i) {
        if (i + kStartsAhead < lists.size()) MAXSIEVE_PREFETCH(lists[i + kStartsAhead].starts + b);
        if (i + kMembersAhead < lists.size()) {
            const uint32_t* const ahead = lists[i + kMembersAhead].starts + b;
            MAXSIEVE_PREFETCH(members + ahead[0]);
            MAXSIEVE_PREFETCH(members + ahead[1]);  // where it ends, which may be the next line
        }
        const std::span<const uint16_t> own(members + lists[i].starts[b], members + lists[i].starts[b + 1]);
        postings += static_cast<int64_t>(own.size());
        add(lists[i], own);
    }
    return postings;
}

int64_t walk_few(const Block& block, uint32_t* sums, size_t mask) {
    return for_each_list(block, [sums, mask](const Walked& list, std::span<const uint16_t> members) {
        const uint32_t token = list.token, weight = static_cast<uint32_t>(list.weight) << 16;
        for (const uint16_t member : members) {
            uint32_t& sum = sums[member & mask];
            const uint32_t last = sum & 0xFFFF;
            // no branch, which nobody could predict
            sum += (weight + token - last) & (0U - static_cast<uint32_t>(last != token));
        }
    });
}

int64_t walk_many(const Kernel& kernel, const Block& block, uint16_t* cells, uint32_t* sums, size_t mask) {
    uint16_t token = 0;
    const int64_t postings = for_each_list(block, [&](const Walked& list, std::span<const uint16_t> members) {
        if (list.token != token) {
            kernel.add_cells(cells, block.documents, sums);
            token = list.token;
        }
        const uint16_t weight = list.weight;  // which a store could change, as far as compilers know
        for (const uint16_t member : members) cells[member & mask] = weight;
    });
    kernel.add_cells(cells, block.documents, sums);
    return postings;
}

void walk_block(const Kernel& kernel, const Block& block, Sums& sums) {
    const size_t room = std::bit_ceil(static_cast<size_t>(block.documents));
    sums.numbers.assign(room, 0);
    if (block.lists->many) {
        sums.cells.assign(room, 0);
        sums.postings += walk_many(kernel, block, sums.cells.data(), sums.numbers.data(), room - 1);
    } else {
        sums.postings += walk_few(block, sums.numbers.data(), room - 1);
    }
}

// Sets to zero what is between the first and the last of some positions, ascending, and is none of them.
void clear_between(std::span<const int64_t> positions, int64_t first, uint32_t* sums) {
    const auto gap = positions.back() - positions.front() - static_cast<int64_t>(positions.size()) + 1;
    if (gap == 0) return;
    if (positions.size() == 2) {
        std::fill_n(sums + (positions.front() - first) + 1, gap, 0U);
        return;
    }
    const size_t middle = positions.size() / 2;
    clear_between(positions.first(middle + 1), first, sums);
    clear_between(positions.subspan(middle), first, sums);
}

// The candidates of a block, which has some. The sums of all other documents become zero.
std::span<const int64_t> only_candidates(std::span<const int64_t> candidates, const Block& block, uint32_t* sums) {
    const auto begin = std::ranges::lower_bound(candidates, block.first);
    const auto end = std::ranges::lower_bound(candidates, block.first + block.documents);
    const std::span<const int64_t> own(begin, end);
    std::fill(sums, sums + (own.front() - block.first), 0U);
    std::fill(sums + (own.back() - block.first) + 1, sums + block.documents, 0U);
    clear_between(own, block.first, sums);
    return own;
}

// The best so far, of one thread: more than n at times.
class FirstPlaces {
  public:
    explicit FirstPlaces(int64_t n) : n_(static_cast<size_t>(n)) {}

    void add(const Engine& engine, const Block& block, const uint32_t* sums) {
        std::vector<uint32_t> largest(static_cast<size_t>((block.documents + kGroup - 1) / kGroup));
        engine.kernel.group_largest(sums, block.documents, largest.data());
        if (places_.size() < n_) raise(largest);
        size_t hint = 0;
        for (size_t g = 0; g < largest.size(); ++g) {
            if (largest[g] >> 16 < lowest_) continue;  // as is almost always so
            const int64_t first = static_cast<int64_t>(g) * kGroup;
            for (int64_t i = first; i < std::min(first + kGroup, block.documents); ++i) {
                const uint32_t proxy = sums[i] >> 16;
                if (proxy < lowest_) continue;
                const int64_t position = block.first + i;
                places_.push_back({{static_cast<int32_t>(proxy), engine.corpus.order(position, hint)}, position});
            }
            if (places_.size() > 2 * n_ + 1024) shrink(engine.corpus.sequenced());
        }
    }

    void merge(const FirstPlaces& other) { places_.insert(places_.end(), other.places_.begin(), other.places_.end()); }

    std::vector<Placed> take() {
        shrink(true);
        return std::move(places_);
    }

  private:
    // A document below the n-th largest of the largest proxies of some groups is not among the first n.
    void raise(std::vector<uint32_t> largest) {
        if (largest.size() < n_) return;
        const auto nth = largest.begin() + static_cast<std::ptrdiff_t>(n_) - 1;
        std::nth_element(largest.begin(), nth, largest.end(), std::greater<>());
        lowest_ = std::max(lowest_, *nth >> 16);
    }

    void shrink(bool sequenced) {
        if (places_.size() <= n_) return;
        const auto last = places_.begin() + static_cast<std::ptrdiff_t>(n_) - 1;
        std::nth_element(places_.begin(), last, places_.end(),
                         [](const Placed& a, const Placed& b) { return a.place.before(b.place); });
        // An equal one at a later position stands behind, unless sequence numbers say otherwise.
        lowest_ = static_cast<uint32_t>(last->place.proxy) + (sequenced ? 0 : 1);
        places_.resize(n_);
    }

    size_t n_;
    uint32_t lowest_ = 1;
    std::vector<Placed> places_;
};

// Whether there is a candidate among the documents from one position to another.
bool has_candidates(std::span<const int64_t> candidates, int64_t from, int64_t end) {
    const auto next = std::ranges::lower_bound(candidates, from);
    return next != candidates.end() && *next < end;
}

// use(block, candidates, sums, worker) for every block of the lists that has candidates. Documents that were added
// after a calibration have lists, too, and are no candidates: nothing of their blocks is read.
template <class Use>
WalkCounts walk(const Engine& engine, const Query& query, const WalkShape& shape, const Use& use) {
    const Lists& lists = engine.corpus.lists();
    WalkCounts counts;
    Stopwatch watch;
    const QueryCodes codes(engine.kernel, query.rows, query.tokens, engine.corpus.d());
    const NearCentroids near = near_centroids(engine.kernel, *lists.codebook, codes, shape, engine.crew);
    counts.centroids = near.scored;
    counts.near_seconds = watch.lap();
    std::vector<WalkedLists> walked(lists.parts.size());
    std::vector<Block> blocks;
    for (size_t p = 0; p < lists.parts.size(); ++p) {
        const ListPart& part = *lists.parts[p].lists;
        const int64_t first = lists.parts[p].first;
        if (!has_candidates(query.candidates, first, first + part.documents())) continue;
        walked[p] = lists_of(part, near, query.tokens);
        for (int64_t b = 0; b < part.blocks(); ++b) {
            const int64_t from = first + b * part.block();
            const int64_t documents = std::min(part.block(), first + part.documents() - from);
            if (!has_candidates(query.candidates, from, from + documents)) continue;
            blocks.push_back({&part, &walked[p], b, from, documents});
        }
        counts.lists += static_cast<int64_t>(walked[p].all.size());
    }
    std::vector<Sums> scratch(static_cast<size_t>(engine.crew.size()));
    engine.crew.run(static_cast<int64_t>(blocks.size()), [&](int64_t task, int worker) {
        const Block& block = blocks[static_cast<size_t>(task)];
        Sums& mine = scratch[static_cast<size_t>(worker)];
        walk_block(engine.kernel, block, mine);
        uint32_t* const sums = mine.numbers.data();
        const auto candidates = only_candidates(query.candidates, block, sums);
        use(block, candidates, sums, worker);
    });
    for (const Sums& mine : scratch) counts.postings += mine.postings;
    counts.walk_seconds = watch.lap();
    return counts;
}

}  // namespace

WalkedFirst walk_first(const Engine& engine, const Query& query, const WalkShape& shape, int64_t n) {
    WalkedFirst found;
    std::vector<FirstPlaces> best(static_cast<size_t>(engine.crew.size()), FirstPlaces(n));
    found.counts =
        walk(engine, query, shape, [&](const Block& block, std::span<const int64_t>, const uint32_t* sums, int worker) {
            best[static_cast<size_t>(worker)].add(engine, block, sums);
        });
    Stopwatch watch;
    for (size_t i = 1; i < best.size(); ++i) best.front().merge(best[i]);
    found.first = best.front().take();
    found.counts.walk_seconds += watch.lap();
    return found;
}

Tier0 walk_all(const Engine& engine, const Query& query, const WalkShape& shape) {
    Tier0 tier{std::vector<int32_t>(query.candidates.size(), -1), kMostWalkedTokens, 0.0, 0.0, 0};
    walk(engine, query, shape, [&](const Block& block, std::span<const int64_t> candidates, const uint32_t* sums, int) {
        for (const int64_t& position : candidates) {
            const uint32_t proxy = sums[position - block.first] >> 16;
            if (proxy == 0) continue;
            tier.proxies[static_cast<size_t>(&position - query.candidates.data())] = static_cast<int32_t>(proxy);
        }
    });
    return tier;
}

}  // namespace maxsieve
