#include "search/bounds.hpp"

#include "search/damage.hpp"
#include "search/scan.hpp"

namespace maxsieve {
namespace {

// What the scan needs of one query: its weights, and its part of eps_i.
struct Prepared {
    Prepared(const Engine& engine, const Query& query)
        : codes(engine.kernel, query.rows, query.tokens, engine.corpus.d(), engine.corpus.residual_bits()),
          terms(codes, engine.corpus.residual_bits()),
          weights(step_weights(codes, engine.corpus.residual_bits())) {}

    // Bounds of documents from their maxima. The maxima of two neighbouring documents are `apart` numbers apart.
    void bound(const Kernel& kernel, const Scanned& scanned, int64_t apart, const int32_t* maxima,
               CertifiedBounds& bounds) const {
        double* lower = bounds.lower.data() + scanned.first;
        double* upper = bounds.upper.data() + scanned.first;
        kernel.weighted_sums(weights.data(), codes.tokens, maxima, apart,
                             static_cast<int64_t>(scanned.documents.size()), lower);
        for (const Document& document : scanned.documents) {
            const double proxy = static_cast<double>(document.scale()) * *lower;
            const double epsilon = terms.epsilon(document);
            require_finite(proxy - epsilon);
            require_finite(proxy + epsilon);
            *lower++ = proxy - epsilon;
            *upper++ = proxy + epsilon;
        }
    }

    QueryCodes codes;
    ErrorTerms terms;
    std::vector<double> weights;
};

}  // namespace

std::vector<CertifiedBounds> certified_bounds(const Engine& engine, std::span<const Query> queries) {
    const auto candidates = queries.front().candidates;
    std::vector<Prepared> prepared;
    std::vector<CertifiedBounds> bounds;
    std::vector<const int8_t*> rows;
    for (const Query& query : queries) {
        prepared.emplace_back(engine, query);
        bounds.push_back({std::vector<double>(candidates.size()), std::vector<double>(candidates.size())});
    }
    for (const Prepared& query : prepared) {
        for (int64_t t = 0; t < query.codes.tokens; ++t) rows.push_back(query.codes.row(t));
    }
    const ScannedQuery packed(engine, rows, candidates);
    scan(engine, candidates, packed, [&](const Scanned& scanned) {
        const int32_t* maxima = scanned.maxima;
        for (size_t q = 0; q < prepared.size(); ++q) {
            prepared[q].bound(engine.kernel, scanned, packed.tokens(), maxima, bounds[q]);
            maxima += prepared[q].codes.tokens;
        }
    });
    return bounds;
}

}  // namespace maxsieve
