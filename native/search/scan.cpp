#include "search/scan.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "search/ranges.hpp"

namespace maxsieve {
namespace {

// Documents of a task: few enough that its data for each of them stay in cache.
constexpr int64_t kMostDocumentsOfScan = 64;

// A scan of byte codes.
class CodeScan {
  public:
    CodeScan(const Engine& engine, const ScannedQuery& query)
        : kernel_(engine.kernel), query_(query.packed()), stride_(engine.corpus.stride()) {}

    struct Scratch {
        std::vector<CodeSpan> spans;
        AlignedBytes kernel;
    };

    void add(const Document& document, int64_t first, int64_t rows, Scratch& scratch) const {
        scratch.spans.push_back({document.codes() + first * stride_, rows});
    }

    // The maxima of the spans that were added.
    void maxima(int32_t* best, Scratch& scratch) const {
        scratch.kernel.resize(scratch_bytes(stride_));
        kernel_.maxima(query_.data(), query_.tokens(), stride_, scratch.spans.data(),
                       static_cast<int64_t>(scratch.spans.size()), best, scratch.kernel.data());
        scratch.spans.clear();
    }

  private:
    const Kernel& kernel_;
    const PackedCodes& query_;
    int64_t stride_;
};

// A scan of residual bits.
class ResidualScan {
  public:
    ResidualScan(const Engine& engine, const ScannedQuery& query)
        : kernel_(engine.kernel), tables_(query.tables()), stride_(engine.corpus.stride()) {}

    struct Scratch {
        std::vector<ResidualSpan> spans;
        std::vector<const Codebook*> books;
        ResidualTables::Scratch tables;
        AlignedBytes kernel;
    };

    void add(const Document& document, int64_t first, int64_t rows, Scratch& scratch) const {
        scratch.spans.push_back(document.residual_span(first, rows));
        scratch.books.push_back(document.book());
    }

    void maxima(int32_t* best, Scratch& scratch) const {
        scratch.kernel.resize(residual_scratch_bytes(tables_.query().tokens, stride_));
        tables_.give_tables(scratch.books, scratch.spans, scratch.tables);
        kernel_.residual_maxima(tables_.query(), scratch.spans.data(), static_cast<int64_t>(scratch.spans.size()), best,
                                scratch.kernel.data());
        scratch.spans.clear();
        scratch.books.clear();
    }

  private:
    const Kernel& kernel_;
    const ResidualTables& tables_;
    int64_t stride_;
};

// Tokens between two checks of the interrupt: some 16 million multiply-adds.
int64_t piece_rows(int64_t tokens, int64_t stride) {
    return std::clamp<int64_t>((int64_t{1} << 24) / (tokens * stride), 1, 65536);
}

template <class Form>
void scan_as(const Form& form, const Engine& engine, std::span<const int64_t> positions, int64_t tokens,
             const std::function<void(const Scanned&)>& consume) {
    struct Scratch {
        std::vector<Document> documents;
        std::vector<int32_t> best;
        typename Form::Scratch form;
    };
    const Corpus& corpus = engine.corpus;
    Interrupt& interrupt = engine.interrupt();
    const std::vector<Range> tasks = ranges(corpus, positions, engine.crew.size(), kMostDocumentsOfScan);
    const int64_t piece = piece_rows(tokens, corpus.stride());
    std::vector<Scratch> scratches(static_cast<size_t>(engine.crew.size()));
    engine.crew.run(static_cast<int64_t>(tasks.size()), [&](int64_t task, int worker) {
        Scratch& scratch = scratches[static_cast<size_t>(worker)];
        const auto [first, last] = tasks[static_cast<size_t>(task)];
        scratch.documents.clear();
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
                form.add(document, 0, document.length(), scratch.form);
            }
            int32_t* best = scratch.best.data() + i * tokens;
            if (end > i) {
                form.maxima(best, scratch.form);
                i = end;
            } else {
                const Document& document = scratch.documents[static_cast<size_t>(i)];
                for (int64_t j = 0; j < document.length(); j += piece) {
                    form.add(document, j, std::min(piece, document.length() - j), scratch.form);
                    form.maxima(best, scratch.form);
                    interrupt.check();
                }
                ++i;
            }
            interrupt.check();
        }
        consume({first, scratch.documents, scratch.best.data()});
    });
}

}  // namespace

ScannedQuery::ScannedQuery(const Engine& engine, const std::vector<const int8_t*>& rows,
                           std::span<const int64_t> positions)
    : tokens_(static_cast<int64_t>(rows.size())) {
    if (engine.corpus.residual_bits() == 0) {
        packed_.emplace(engine.kernel, rows, engine.corpus.stride());
    } else {
        tables_.emplace(engine, rows, positions);
    }
}

void scan(const Engine& engine, std::span<const int64_t> positions, const ScannedQuery& query,
          const std::function<void(const Scanned&)>& consume) {
    if (engine.corpus.residual_bits() == 0) {
        scan_as(CodeScan(engine, query), engine, positions, query.tokens(), consume);
    } else {
        scan_as(ResidualScan(engine, query), engine, positions, query.tokens(), consume);
    }
}

}  // namespace maxsieve
