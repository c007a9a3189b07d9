#include "search/scan.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "search/ranges.hpp"

namespace maxsieve {
namespace {

// Documents of a task: few enough that its data for each of them stay in cache.
constexpr int64_t kMostDocumentsOfScan = 64;

// Memory that a thread reuses for its tasks.
struct ScanScratch {
    std::vector<Document> documents;
    std::vector<CodeSpan> spans;
    std::vector<int32_t> best;
    AlignedBytes kernel;
};

// Tokens of one document between two checks of the interrupt: some 16 million multiply-adds.
int64_t piece_rows(int64_t tokens, int64_t stride) {
    return std::max<int64_t>(1, (int64_t{1} << 24) / (tokens * stride));
}

}  // namespace

void scan(const Engine& engine, std::span<const int64_t> positions, const PackedCodes& query,
          const std::function<void(const Scanned&)>& consume) {
    const Corpus& corpus = engine.corpus;
    const Kernel& kernel = engine.kernel;
    Interrupt& interrupt = engine.interrupt();
    const std::vector<Range> tasks = ranges(corpus, positions, engine.crew.size(), kMostDocumentsOfScan);
    const int64_t tokens = query.tokens(), stride = corpus.stride(), piece = piece_rows(tokens, stride);
    std::vector<ScanScratch> scratches(static_cast<size_t>(engine.crew.size()));
    engine.crew.run(static_cast<int64_t>(tasks.size()), [&](int64_t task, int worker) {
        ScanScratch& scratch = scratches[static_cast<size_t>(worker)];
        const auto [first, last] = tasks[static_cast<size_t>(task)];
        scratch.documents.clear();
        scratch.spans.clear();
        scratch.kernel.resize(scratch_bytes(stride));
        scratch.best.assign(static_cast<size_t>((last - first) * tokens), std::numeric_limits<int32_t>::min());
        size_t hint = 0;
        for (int64_t i = first; i < last; ++i) {
            scratch.documents.push_back(corpus.at(positions[static_cast<size_t>(i)], hint));
        }
        // The kernel gets several consecutive documents at once, as long as they have no more tokens than a piece. A
        // longer document is cut into pieces.
        for (int64_t i = 0; i < last - first;) {
            int64_t end = i, rows = 0;
            for (; end < last - first; ++end) {
                const Document& document = scratch.documents[static_cast<size_t>(end)];
                if (rows + document.length() > piece) break;
                rows += document.length();
                scratch.spans.push_back({document.codes(), document.length()});
            }
            if (end > i) {
                kernel.maxima(query.data(), tokens, stride, scratch.spans.data(), end - i,
                              scratch.best.data() + i * tokens, scratch.kernel.data());
                scratch.spans.clear();
                i = end;
            } else {
                const Document& document = scratch.documents[static_cast<size_t>(i)];
                for (int64_t j = 0; j < document.length(); j += piece) {
                    const CodeSpan span{document.codes() + j * stride, std::min(piece, document.length() - j)};
                    kernel.maxima(query.data(), tokens, stride, &span, 1, scratch.best.data() + i * tokens,
                                  scratch.kernel.data());
                    interrupt.check();
                }
                ++i;
            }
            interrupt.check();
        }
        consume({first, scratch.documents, scratch.best.data()});
    });
}

}  // namespace maxsieve
