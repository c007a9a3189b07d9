#include "binding/search.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "binding/arrays.hpp"
#include "binding/candidates.hpp"
#include "binding/corpus.hpp"
#include "binding/interruptible.hpp"
#include "binding/rows.hpp"
#include "kernels/table.hpp"
#include "search/bounds.hpp"
#include "search/canonical.hpp"
#include "search/direct.hpp"
#include "search/rescore.hpp"
#include "search/search.hpp"
#include "search/tier0.hpp"
#include "search/walk.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace maxsieve {
namespace {

Query to_query(const Matrix<const float>& rows, std::span<const int64_t> candidates, const Corpus& corpus) {
    require(rows.shape(0) >= 1, "a query needs a token");
    require(static_cast<int64_t>(rows.shape(1)) == corpus.d(), "the query must have the corpus's dimension");
    return {rows.data(), static_cast<int64_t>(rows.shape(0)), candidates};
}

std::span<const int64_t> to_positions(const Flat<const int64_t>& array, const Corpus& corpus) {
    return Candidates(array).positions_in(corpus);
}

// What a caller gives for each query, held as long as the search takes.
std::vector<Candidates> to_candidates(const CandidatesSequence& given) {
    std::vector<Candidates> all;
    for (const nb::handle one : given) {
        const bool checked = nb::isinstance<Candidates>(one);
        all.push_back(checked ? nb::cast<const Candidates&>(one) : Candidates(nb::cast<Flat<const int64_t>>(one)));
    }
    return all;
}

// A Python function. Its argument is a list of offers, each a tuple (kind, k, values, orders). It returns the numbers
// of the reply.
using Share = nb::typed<nb::callable, std::vector<double>(...)>;

// An exchange that calls a Python function.
class PythonExchange : public Exchange {
  public:
    explicit PythonExchange(Share share) : share_(std::move(share)) {}

    std::vector<double> share(std::vector<Offer> offers) override {
        const nb::gil_scoped_acquire held;
        nb::list given;
        size_t expected = offers.size();
        for (Offer& offer : offers) {
            const char* kind = offer.kind == Offer::Kind::kth ? "kth" : offer.kind == Offer::Kind::sum ? "sum" : "max";
            const size_t count = offer.values.size();
            nb::object orders = nb::none();
            if (offer.orders) {
                orders = to_numpy(std::move(*offer.orders), {count});
                ++expected;
            }
            given.append(nb::make_tuple(kind, offer.k, to_numpy(std::move(offer.values), {count}), orders));
        }
        auto replies = nb::cast<std::vector<double>>(share_(given));
        require(replies.size() == expected, "a reply has a number for each offer, and one more if it has orders");
        return replies;
    }

  private:
    Share share_;
};

List<Answer> search_all(const HeldCorpus& held, const std::vector<Matrix<const float>>& rows,
                        const CandidatesSequence& given, int64_t k, const Policy& policy, int threads, bool trace,
                        std::optional<Share> exchange) {
    const Corpus& corpus = held.get();
    require(corpus.coded() || !policy.needs_codes(), "this policy needs codes");
    require(corpus.has_codebook() || !policy.needs_codebook(), "this policy needs a codebook");
    require(corpus.has_lists() || !policy.needs_lists(), "this policy needs lists");
    require(k >= 1 && threads >= 1, "k and threads must be at least 1");
    const std::vector<Candidates> candidates = to_candidates(given);
    require(rows.size() == candidates.size(), "one list of candidates for each query");
    std::vector<Query> queries;
    for (size_t i = 0; i < rows.size(); ++i) {
        queries.push_back(to_query(rows[i], candidates[i].positions_in(corpus), corpus));
        require(!policy.needs_lists() || queries.back().tokens <= kMostWalkedTokens,
                "lists are walked for at most 65,535 query tokens");
    }
    require(!trace || queries.size() == 1, "one query at a time can be traced");
    require(!exchange || (queries.size() == 1 && !trace), "one query at a time can be shared, without a trace");
    nb::list result;
    if (exchange) {
        PythonExchange shared(std::move(*exchange));
        result.append(nb::cast(interruptible([&](Interrupt& interrupt) {
            return search_shared(corpus, queries.front(), k, policy, threads, shared, interrupt);
        })));
        return result;
    }
    if (trace) {
        result.append(nb::cast(interruptible([&](Interrupt& interrupt) {
            return search_traced(corpus, queries.front(), k, policy, threads, interrupt);
        })));
        return result;
    }
    std::vector<Answer> answers =
        interruptible([&](Interrupt& interrupt) { return search(corpus, queries, k, policy, threads, interrupt); });
    for (Answer& answer : answers) result.append(nb::cast(std::move(answer)));
    return result;
}

// Returns use(engine, queries, positions), where the candidates of every query are all documents.
template <class Use>
auto with_all_documents(const Corpus& corpus, const std::vector<Matrix<const float>>& rows, int threads,
                        const Use& use) {
    require(threads >= 1, "threads must be at least 1");
    std::vector<int64_t> positions(static_cast<size_t>(corpus.documents()));
    std::iota(positions.begin(), positions.end(), 0);
    std::vector<Query> queries;
    for (const auto& query : rows) queries.push_back(to_query(query, positions, corpus));
    return interruptible([&](Interrupt& interrupt) {
        Crew crew(threads, interrupt);
        return use(Engine{corpus, current_kernel(), crew}, queries, positions);
    });
}

// P - eps and P + eps of every document. No document may be empty.
Tuple<Array<double>, Array<double>> bounds_of_all(const HeldCorpus& held, const Matrix<const float>& query,
                                                  int threads) {
    require(held.get().coded(), "bounds need codes");
    CertifiedBounds bounds =
        with_all_documents(held.get(), {query}, threads, [](const Engine& engine, const auto& queries, const auto&) {
            return std::move(certified_bounds(engine, queries).front());
        });
    const size_t count = bounds.lower.size();
    return nb::make_tuple(to_numpy(std::move(bounds.lower), {count}), to_numpy(std::move(bounds.upper), {count}));
}

// Canonical scores [queries, documents].
Array<float> score_all(const HeldCorpus& held, const std::vector<Matrix<const float>>& rows, int threads) {
    const auto documents = static_cast<size_t>(held.get().documents());
    return to_numpy(with_all_documents(held.get(), rows, threads,
                                       [](const Engine& engine, const auto& queries, const auto& positions) {
                                           return Rescorer(engine, queries).scores(positions);
                                       }),
                    {rows.size(), documents});
}

// Canonical scores [queries, documents] of documents in a caller's arrays, and the first document with a bad value, or
// -1.
Tuple<Array<float>, int64_t> score_arrays(const ArrayList& arrays, int64_t d, const Flat<const int64_t>& offsets,
                                          const std::vector<Matrix<const float>>& rows, int threads) {
    require(d >= 1 && threads >= 1, "dim and threads must be at least 1");
    const std::span<const int64_t> ends(offsets.data(), offsets.shape(0));
    require(!ends.empty() && ends.front() == 0 && std::ranges::is_sorted(ends), "offsets must ascend from 0");
    const PythonRows given(arrays, d);
    const InputRows input = given.input(d);
    require(input.rows() == ends.back(), "the arrays must have the rows that the offsets say");
    std::vector<Query> queries;
    for (const auto& query : rows) {
        require(query.shape(0) >= 1, "a query needs a token");
        require(static_cast<int64_t>(query.shape(1)) == d, "the query must have the arrays' dimension");
        queries.push_back({query.data(), static_cast<int64_t>(query.shape(0)), {}});
    }
    DirectScores found = interruptible(
        [&](Interrupt& interrupt) { return score_directly(input, d, ends, queries, threads, interrupt); });
    return nb::make_tuple(to_numpy(std::move(found.scores), {rows.size(), ends.size() - 1}), found.first_invalid);
}

// Canonical cells [documents, tokens] of one query.
Array<float> cells_of_all(const HeldCorpus& held, const Matrix<const float>& query, int threads) {
    const auto documents = static_cast<size_t>(held.get().documents());
    return to_numpy(with_all_documents(held.get(), {query}, threads,
                                       [](const Engine& engine, const auto& queries, const auto& positions) {
                                           return Rescorer(engine, queries).cells(positions);
                                       }),
                    {documents, query.shape(0)});
}

// The proxies of a query's candidates: by tier 0, or by lists.
Tier0 proxies_of(const Engine& engine, const Query& query, const std::optional<WalkShape>& walk) {
    return walk ? walk_all(engine, query, *walk) : tier0(engine, query);
}

void require_proxies(const Corpus& corpus, const Matrix<const float>& rows, const std::optional<WalkShape>& walk,
                     int threads) {
    require(walk ? corpus.has_lists() : corpus.has_codebook(), "proxies need a codebook, or lists if these are walked");
    require(!walk || static_cast<int64_t>(rows.shape(0)) <= kMostWalkedTokens,
            "lists are walked for at most 65,535 query tokens");
    require(threads >= 1, "threads must be at least 1");
}

// How many of a query's candidates stand before some places in the list by proxy.
Array<int64_t> count_before_places(const HeldCorpus& held, const Matrix<const float>& rows,
                                   const Flat<const int64_t>& candidates, const Flat<const int32_t>& proxies,
                                   const Flat<const int64_t>& orders, int threads,
                                   const std::optional<WalkPair>& walk) {
    const Corpus& corpus = held.get();
    const std::optional<WalkShape> shape = to_shape(walk);
    require_proxies(corpus, rows, shape, threads);
    require(proxies.shape(0) == orders.shape(0), "a place is a proxy and an order");
    const Query query = to_query(rows, to_positions(candidates, corpus), corpus);
    std::vector<Place> places;
    for (size_t i = 0; i < proxies.shape(0); ++i) places.push_back({proxies.data()[i], orders.data()[i]});
    std::vector<int64_t> counts = interruptible([&](Interrupt& interrupt) {
        Crew crew(threads, interrupt);
        return count_before(proxies_of({corpus, current_kernel(), crew}, query, shape), corpus, query.candidates,
                            places);
    });
    const size_t count = counts.size();
    return to_numpy(std::move(counts), {count});
}

// The places by proxy, from 1, of some of a query's candidates; the largest integer for one that has no place.
Array<int64_t> ranks_of(const HeldCorpus& held, const Matrix<const float>& rows, const Flat<const int64_t>& candidates,
                        const Flat<const int64_t>& wanted, int threads, const std::optional<WalkPair>& walk) {
    const Corpus& corpus = held.get();
    const std::optional<WalkShape> shape = to_shape(walk);
    require_proxies(corpus, rows, shape, threads);
    const Query query = to_query(rows, to_positions(candidates, corpus), corpus);
    const std::span<const int64_t> positions = to_positions(wanted, corpus);
    require(std::ranges::includes(query.candidates, positions), "what is wanted must be among the candidates");
    std::vector<int64_t> places = interruptible([&](Interrupt& interrupt) {
        Crew crew(threads, interrupt);
        const Tier0 tier = proxies_of({corpus, current_kernel(), crew}, query, shape);
        std::vector<Place> places_of_wanted;
        size_t hint = 0;
        for (const int64_t position : positions) {
            const auto found = std::ranges::lower_bound(query.candidates, position) - query.candidates.begin();
            places_of_wanted.push_back({tier.proxies[static_cast<size_t>(found)], corpus.order(position, hint)});
        }
        std::vector<int64_t> ranks = count_before(tier, corpus, query.candidates, places_of_wanted);
        for (size_t i = 0; i < ranks.size(); ++i) {
            ranks[i] = places_of_wanted[i].proxy < 0 ? std::numeric_limits<int64_t>::max() : ranks[i] + 1;
        }
        return ranks;
    });
    const size_t count = places.size();
    return to_numpy(std::move(places), {count});
}

// The proxies of a query's candidates; -1 for one that has no place.
Array<int32_t> tier0_of(const HeldCorpus& held, const Matrix<const float>& rows, const Flat<const int64_t>& candidates,
                        int threads, const std::optional<WalkPair>& walk) {
    const Corpus& corpus = held.get();
    const std::optional<WalkShape> shape = to_shape(walk);
    require_proxies(corpus, rows, shape, threads);
    const Query query = to_query(rows, to_positions(candidates, corpus), corpus);
    Tier0 tier = interruptible([&](Interrupt& interrupt) {
        Crew crew(threads, interrupt);
        return proxies_of({corpus, current_kernel(), crew}, query, shape);
    });
    const size_t count = tier.proxies.size();
    return to_numpy(std::move(tier.proxies), {count});
}

Tuple<Array<int64_t>, Array<float>> explain(const HeldCorpus& held, const Matrix<const float>& rows, int64_t position) {
    const Corpus& corpus = held.get();
    const Query query = to_query(rows, {}, corpus);
    require_position(position, corpus);
    const size_t tokens = rows.shape(0);
    std::vector<int64_t> best(tokens);
    std::vector<float> similarities(tokens);
    interruptible([&](Interrupt& interrupt) {
        const Panels panels(query.rows, query.tokens, corpus.d());
        size_t hint = 0;
        CanonicalScorer(current_kernel(), panels, interrupt)
            .explain(corpus.at(position, hint), best.data(), similarities.data());
    });
    return nb::make_tuple(to_numpy(std::move(best), {tokens}), to_numpy(std::move(similarities), {tokens}));
}

}  // namespace

void bind_search(nb::module_& m) {
    m.def("search", &search_all, "corpus"_a, "queries"_a, "candidates"_a, "k"_a, "policy"_a, "threads"_a, "trace"_a,
          "exchange"_a = nb::none());
    m.def("bounds", &bounds_of_all, "corpus"_a, "query"_a, "threads"_a);
    m.def("score", &score_all, "corpus"_a, "queries"_a, "threads"_a);
    m.def("score_arrays", &score_arrays, "arrays"_a, "dim"_a, "offsets"_a, "queries"_a, "threads"_a);
    m.def("cells", &cells_of_all, "corpus"_a, "query"_a, "threads"_a);
    m.def("tier0", &tier0_of, "corpus"_a, "query"_a, "candidates"_a, "threads"_a, "walk"_a = nb::none());
    m.def("ranks", &ranks_of, "corpus"_a, "query"_a, "candidates"_a, "wanted"_a, "threads"_a, "walk"_a = nb::none());
    m.def("count_before", &count_before_places, "corpus"_a, "query"_a, "candidates"_a, "proxies"_a, "orders"_a,
          "threads"_a, "walk"_a = nb::none());
    m.def("explain", &explain, "corpus"_a, "query"_a, "position"_a);
}

}  // namespace maxsieve
