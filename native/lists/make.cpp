// Tokens are named segment by segment; residuals have names already. What is kept of a document is its set of
// centroids, four bytes each. Then the documents that each centroid has are counted, block by block: the blocks of one
// centroid are neighbours in the array of counts, so that sums over it are the starts of the lists, in their order. A
// second pass puts the documents there.

#include "lists/make.hpp"

#include <algorithm>
#include <stdexcept>

#include "codebook/assign.hpp"

namespace maxsieve {
namespace {

// The different centroids of each document, ascending.
struct Named {
    std::vector<uint32_t> ids;
    std::vector<int64_t> ends;  // of each document in `ids`
};

void add_named(const Segment& segment, std::vector<uint32_t>& names, Named& named) {
    for (int64_t i = 0; i < segment.documents; ++i) {
        const auto first = names.begin() + segment.offsets[i], last = names.begin() + segment.offsets[i + 1];
        std::sort(first, last);
        named.ids.insert(named.ids.end(), first, std::unique(first, last));
        named.ends.push_back(static_cast<int64_t>(named.ids.size()));
    }
}

}  // namespace

MadeLists make_lists(const Codebook& book, const std::vector<Segment>& segments, int64_t block, int64_t probes,
                     const Kernel& kernel, Crew& crew) {
    Assigner assigner(kernel, book, probes);
    Named named;
    std::vector<uint32_t> names;
    for (const Segment& segment : segments) {
        names.resize(static_cast<size_t>(segment.offsets[segment.documents]));
        if (segment.bits > 0) {
            // A forged file may name others than there are: the scan cuts them in the same way.
            const auto last = static_cast<uint32_t>(book.centroids - 1);
            std::transform(segment.centroids, segment.centroids + names.size(), names.begin(),
                           [&](uint16_t name) { return name & last; });
        } else {
            assigner.assign(segment.codes, static_cast<int64_t>(names.size()), names.data(), crew);
        }
        add_named(segment, names, named);
    }
    if (named.ids.size() > UINT32_MAX) throw std::invalid_argument("these are too many documents for one set of lists");

    const auto documents = static_cast<int64_t>(named.ends.size());
    const int64_t blocks = (documents + block - 1) / block;
    // counts[c * blocks + b + 1]: first how many, then where the next one goes.
    std::vector<uint32_t> counts(static_cast<size_t>(book.centroids * blocks) + 1);
    const auto for_each = [&](const auto& use) {
        crew.run(blocks, [&](int64_t b, int) {
            int64_t at = b == 0 ? 0 : named.ends[static_cast<size_t>(b * block) - 1];
            for (int64_t i = b * block; i < std::min((b + 1) * block, documents); ++i) {
                for (; at < named.ends[static_cast<size_t>(i)]; ++at) {
                    use(counts[named.ids[static_cast<size_t>(at)] * static_cast<size_t>(blocks) +
                               static_cast<size_t>(b) + 1],
                        static_cast<uint16_t>(i - b * block));
                }
            }
        });
    };
    for_each([](uint32_t& count, uint16_t) { ++count; });

    MadeLists made;
    made.present.resize(static_cast<size_t>((book.centroids + 63) / 64));
    made.starts.push_back(0);
    uint32_t sum = 0;
    for (int64_t c = 0; c < book.centroids; ++c) {
        const uint32_t before = sum;
        for (int64_t b = 0; b < blocks; ++b) {
            uint32_t& count = counts[static_cast<size_t>(c * blocks + b) + 1];
            const uint32_t next = sum;
            sum += count;
            count = next;
        }
        if (sum == before) continue;
        made.present[static_cast<size_t>(c / 64)] |= uint64_t{1} << (c % 64);
        for (int64_t b = 1; b < blocks; ++b) made.starts.push_back(counts[static_cast<size_t>(c * blocks + b) + 1]);
        made.starts.push_back(sum);
    }
    made.members.resize(sum);
    for_each([&](uint32_t& next, uint16_t document) { made.members[next++] = document; });
    return made;
}

MadeLists merge_lists(const std::vector<const ListPart*>& parts, Interrupt& interrupt) {
    const int64_t centroids = parts.front()->centroids(), size = parts.front()->block();
    int64_t documents = 0, postings = 0;
    for (const ListPart* part : parts) documents += part->documents(), postings += part->postings();
    if (postings > static_cast<int64_t>(UINT32_MAX)) {
        throw std::invalid_argument("these are too many documents for one set of lists");
    }
    const int64_t blocks = (documents + size - 1) / size;
    MadeLists made;
    made.present.resize(static_cast<size_t>((centroids + 63) / 64));
    made.starts.push_back(0);
    made.members.reserve(static_cast<size_t>(postings));
    const auto close_block = [&] { made.starts.push_back(static_cast<uint32_t>(made.members.size())); };
    for (int64_t c = 0; c < centroids; ++c) {
        if (c % 64 == 0) interrupt.check();
        int64_t block = 0, first = 0, before = -1;  // the block that is filled, and the last document so far
        bool present = false;
        for (const ListPart* part : parts) {
            const auto list = part->list_of(c);
            for (int64_t b = 0; list && b < part->blocks(); ++b) {
                const uint32_t* const starts = part->starts(*list) + b;
                const int64_t from = first + b * size, end = std::min(from + size, first + part->documents());
                for (uint32_t at = starts[0]; at < starts[1]; ++at) {
                    const int64_t document = from + part->members()[at];
                    if (document <= before || document >= end) {
                        throw std::invalid_argument("lists have documents that they can't have");
                    }
                    before = document;
                    for (; document >= (block + 1) * size; ++block) close_block();
                    made.members.push_back(static_cast<uint16_t>(document - block * size));
                }
            }
            present |= list.has_value();
            first += part->documents();
        }
        if (!present) continue;
        made.present[static_cast<size_t>(c / 64)] |= uint64_t{1} << (c % 64);
        for (; block < blocks; ++block) close_block();
    }
    return made;
}

}  // namespace maxsieve
