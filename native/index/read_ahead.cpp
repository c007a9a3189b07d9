#include "index/read_ahead.hpp"

#include <algorithm>
#include <cstddef>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace maxsieve {

#if __has_include(<sys/mman.h>)
namespace {

constexpr size_t kLookedAt = 8;

// The pages that some bytes lie in.
struct Pages {
    explicit Pages(std::span<const std::byte> some) {
        static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
        const auto begin = reinterpret_cast<uintptr_t>(some.data());
        first = reinterpret_cast<char*>(begin / page * page);
        bytes = begin % page + some.size();
    }

    // Whether the first page is in memory; true if the system does not say.
    bool in_memory() const {
#if defined(__APPLE__)
        char resident = 1;
#else
        unsigned char resident = 1;
#endif
        return mincore(first, 1, &resident) != 0 || (resident & 1) != 0;
    }

    char* first;
    size_t bytes;
};

}  // namespace

void read_ahead(const Corpus& corpus, std::span<const int64_t> positions) {
    size_t hint = 0;
    const size_t step = std::max<size_t>(1, positions.size() / kLookedAt);
    bool all = true;
    for (size_t i = 0; i < positions.size() && all; i += step) {
        const Document document = corpus.at(positions[i], hint);
        all = document.length() == 0 || Pages(document.scanned().front()).in_memory();
    }
    if (all) return;
    for (const int64_t position : positions) {
        for (const std::span<const std::byte> some : corpus.at(position, hint).scanned()) {
            if (const Pages pages(some); !some.empty()) madvise(pages.first, pages.bytes, MADV_WILLNEED);
        }
    }
}
#else
void read_ahead(const Corpus&, std::span<const int64_t>) {}
#endif

}  // namespace maxsieve
