#include "codebook/assign.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "codebook/first_places.hpp"

namespace maxsieve {
namespace {

// Tokens of a task for each group: enough that a group, which is read from memory, serves some tens of them.
constexpr int64_t kTokensOfGroup = 32;
constexpr int64_t kFewestOfBlock = 2048, kMostOfBlock = 65536;
// Tokens whose dot products are held at a time: with some hundred centroids they stay in L1.
constexpr int64_t kBatch = 32;

}  // namespace

// Memory that a worker reuses for its tasks.
struct Assigner::Scratch {
    std::vector<int32_t> dots, largest, place;    // of a batch
    std::vector<int32_t> best;                    // for each token of a block: the largest dot product so far
    std::vector<std::vector<int32_t>> searching;  // for each group: the tokens that search it
    std::vector<int8_t> gathered;                 // the codes of a batch of these tokens
    AlignedBytes kernel;
};

Assigner::Assigner(const Kernel& kernel, const Codebook& book, int64_t probes)
    : kernel_(kernel),
      book_(book),
      probes_(std::min(probes, book.groups)),
      stride_(code_stride(book.d)),
      block_(std::clamp(kTokensOfGroup * book.groups / probes_, kFewestOfBlock, kMostOfBlock)),
      heads_(pack(book.heads, book.groups)),
      groups_(static_cast<size_t>(book.groups)),
      packed_(std::make_unique<std::once_flag[]>(static_cast<size_t>(book.groups))) {}

Assigner::Packed Assigner::pack(const int8_t* codes, int64_t count) const {
    Packed packed;
    packed.real = count;
    packed.lanes = (count + kPanel - 1) / kPanel * kPanel;
    std::vector<int8_t> rows(static_cast<size_t>(packed.lanes * stride_));
    std::memcpy(rows.data(), codes, static_cast<size_t>(count * stride_));
    packed.bytes.resize(kernel_.packed_bytes(packed.lanes, stride_));
    kernel_.pack(rows.data(), packed.lanes, stride_, packed.bytes.data());
    return packed;
}

const Assigner::Packed& Assigner::group(int64_t g) {
    const auto at = static_cast<size_t>(g);
    std::call_once(packed_[at], [&] {
        groups_[at] = pack(book_.codes + book_.starts[g] * stride_, book_.starts[g + 1] - book_.starts[g]);
    });
    return groups_[at];
}

void Assigner::assign(const int8_t* codes, int64_t tokens, uint32_t* ids, Crew& crew) {
    std::vector<Scratch> scratches(static_cast<size_t>(crew.size()));
    // Blocks for all threads, also if there are few tokens.
    const int64_t share = (tokens + crew.size() - 1) / crew.size();
    const int64_t block = std::clamp(share, std::min(kFewestOfBlock, block_), block_);
    crew.run((tokens + block - 1) / block, [&](int64_t task, int worker) {
        const int64_t first = task * block;
        assign_block(codes + first * stride_, std::min(block, tokens - first), ids + first,
                     scratches[static_cast<size_t>(worker)], crew.interrupt());
    });
}

void Assigner::assign_block(const int8_t* codes, int64_t tokens, uint32_t* ids, Scratch& scratch,
                            Interrupt& interrupt) {
    scratch.searching.resize(static_cast<size_t>(book_.groups));
    for (auto& list : scratch.searching) list.clear();
    scratch.dots.resize(static_cast<size_t>(kBatch * heads_.lanes));
    scratch.kernel.resize(scratch_bytes(stride_));
    for (int64_t first = 0; first < tokens; first += kBatch) {
        const int64_t count = std::min(kBatch, tokens - first);
        kernel_.dots(heads_.bytes.data(), heads_.lanes, stride_, codes + first * stride_, count, scratch.dots.data(),
                     scratch.kernel.data());
        interrupt.check();
        for (int64_t j = 0; j < count; ++j) {
            int32_t probed[kProbes];
            first_places(kernel_, scratch.dots.data() + j * heads_.lanes, heads_.real, probes_, probed);
            for (int64_t p = 0; p < probes_; ++p) {
                scratch.searching[static_cast<size_t>(probed[p])].push_back(static_cast<int32_t>(first + j));
            }
        }
    }
    scratch.best.assign(static_cast<size_t>(tokens), std::numeric_limits<int32_t>::min());
    scratch.largest.resize(kBatch), scratch.place.resize(kBatch);
    scratch.gathered.resize(static_cast<size_t>(kBatch * stride_));
    // Groups are visited in ascending order, and a later centroid wins only with a larger dot product. So the first of
    // equal centroids wins.
    for (int64_t g = 0; g < book_.groups; ++g) {
        const std::vector<int32_t>& list = scratch.searching[static_cast<size_t>(g)];
        if (list.empty()) continue;
        interrupt.check();
        const Packed& members = group(g);
        scratch.dots.resize(static_cast<size_t>(std::max(kBatch * members.lanes, kBatch * heads_.lanes)));
        for (size_t first = 0; first < list.size(); first += kBatch) {
            const int64_t count = std::min<int64_t>(kBatch, static_cast<int64_t>(list.size() - first));
            for (int64_t j = 0; j < count; ++j) {
                std::memcpy(scratch.gathered.data() + j * stride_,
                            codes + list[first + static_cast<size_t>(j)] * stride_, static_cast<size_t>(stride_));
            }
            kernel_.dots(members.bytes.data(), members.lanes, stride_, scratch.gathered.data(), count,
                         scratch.dots.data(), scratch.kernel.data());
            kernel_.first_largest(scratch.dots.data(), members.lanes, members.real, count, scratch.largest.data(),
                                  scratch.place.data());
            for (int64_t j = 0; j < count; ++j) {
                const auto token = static_cast<size_t>(list[first + static_cast<size_t>(j)]);
                if (scratch.largest[static_cast<size_t>(j)] <= scratch.best[token]) continue;
                scratch.best[token] = scratch.largest[static_cast<size_t>(j)];
                ids[token] = static_cast<uint32_t>(book_.starts[g] + scratch.place[static_cast<size_t>(j)]);
            }
        }
    }
}

}  // namespace maxsieve
