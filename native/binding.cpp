// The Python side of the core: arrays in, arrays out, signals polled, the GIL released. Shapes and types are checked
// here again, whatever the Python layer has promised, so that no call can read out of bounds.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "index/corpus.hpp"
#include "index/ingest.hpp"
#include "index/normalise.hpp"
#include "kernels/table.hpp"
#include "numeric/floating_point.hpp"
#include "python_rows.hpp"
#include "search/canonical.hpp"
#include "search/rescore.hpp"
#include "search/search.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace maxsieve {
namespace {

template <class T>
using Flat = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyWritableMatrix = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

// Runs `work(interrupt)` without the GIL; the calling thread takes it back now and then to see pending signals, and a
// KeyboardInterrupt that they raise comes out of here.
template <class Work>
auto interruptible(const Work& work) {
    try {
        const nb::gil_scoped_release released;
        const DefaultFloatingPoint state;
        return work([] {
            const nb::gil_scoped_acquire held;
            return PyErr_CheckSignals() != 0;
        });
    } catch (const Interrupted&) {
        throw nb::python_error();
    }
}

template <class T>
nb::object to_numpy(std::vector<T> values, std::initializer_list<size_t> shape) {
    auto owned = std::make_unique<std::vector<T>>(std::move(values));
    T* data = owned->data();
    const nb::capsule owner(owned.release(),
                            [](void* p) noexcept { std::unique_ptr<std::vector<T>>(static_cast<std::vector<T>*>(p)); });
    return nb::cast(nb::ndarray<nb::numpy, T>(data, shape, owner));
}

// A segment that keeps its arrays alive.
class HeldSegment {
  public:
    // Rows alone: enough for canonical scores.
    HeldSegment(AnyMatrix rows, Flat<const int64_t> offsets) : rows_(std::move(rows)), offsets_(std::move(offsets)) {
        const bool half = rows_.dtype() == nb::dtype<uint16_t>();
        require(half || rows_.dtype() == nb::dtype<float>(), "rows must be float32, or float16 seen as uint16");
        require(offsets_.shape(0) >= 1, "offsets need one entry more than there are documents");
        const auto documents = static_cast<int64_t>(offsets_.shape(0)) - 1;
        const int64_t* offset = offsets_.data();
        require(offset[0] == 0 && offset[documents] == static_cast<int64_t>(rows_.shape(0)),
                "offsets must run from 0 to the number of rows");
        for (int64_t i = 0; i < documents; ++i) require(offset[i] <= offset[i + 1], "offsets must not fall");
        view_.documents = documents, view_.offsets = offset, view_.rows = rows_.data(), view_.half = half;
    }

    HeldSegment(AnyMatrix rows, Flat<const int64_t> offsets, Matrix<const int8_t> codes, Flat<const float> scale,
                Flat<const float> rho, Flat<const float> nu)
        : HeldSegment(std::move(rows), std::move(offsets)) {
        codes_ = std::move(codes), scale_ = std::move(scale), rho_ = std::move(rho), nu_ = std::move(nu);
        require(codes_.shape(0) == rows_.shape(0) && static_cast<int64_t>(codes_.shape(1)) == code_stride(d()),
                "codes must be [tokens, padded d]");
        require(static_cast<int64_t>(codes_.shape(1)) <= kMaxStride, "codes are for at most 4096 dimensions");
        for (const auto* bound : {&scale_, &rho_, &nu_}) {
            require(static_cast<int64_t>(bound->shape(0)) == view_.documents,
                    "one scale, rho and nu for each document");
        }
        view_.codes = codes_.data(), view_.scale = scale_.data(), view_.rho = rho_.data(), view_.nu = nu_.data();
    }

    const Segment& view() const { return view_; }
    int64_t d() const { return static_cast<int64_t>(rows_.shape(1)); }

  private:
    AnyMatrix rows_;
    Flat<const int64_t> offsets_;
    Matrix<const int8_t> codes_;
    Flat<const float> scale_, rho_, nu_;
    Segment view_{};
};

// A corpus that keeps its segments alive.
class HeldCorpus {
  public:
    HeldCorpus(int64_t d, nb::tuple segments) : segments_(std::move(segments)), corpus_(d, views(d, segments_)) {}

    const Corpus& get() const { return corpus_; }
    bool coded() const { return coded_; }

  private:
    std::vector<Segment> views(int64_t d, const nb::tuple& segments) {
        std::vector<Segment> views;
        for (const nb::handle handle : segments) {
            const auto& segment = nb::cast<const HeldSegment&>(handle);
            require(segment.d() == d, "every segment must have the corpus's dimension");
            coded_ = coded_ && segment.view().codes != nullptr;
            views.push_back(segment.view());
        }
        return views;
    }

    bool coded_ = true;
    nb::tuple segments_;
    Corpus corpus_;
};

void require_query(const Matrix<const float>& query, const Corpus& corpus) {
    require(query.shape(0) >= 1, "a query needs a token");
    require(static_cast<int64_t>(query.shape(1)) == corpus.d(), "the query must have the corpus's dimension");
}

void require_position(int64_t position, const Corpus& corpus) {
    require(position >= 0 && position < corpus.documents(), "no document at this position");
}

Policy policy_from(const std::string& name, double alpha, double delta, int64_t margin, int64_t block, uint64_t seed,
                   const std::string& radius) {
    require(name == "certified" || name == "bandit" || name == "exhaustive", "unknown policy");
    require(radius == "paper" || radius == "serfling", "unknown radius");
    require(alpha > 0.0 && alpha <= 1.0 && delta > 0.0 && delta < 1.0 && margin >= 0 && block >= 1,
            "knob out of range");
    return {.kind = name == "certified" ? PolicyKind::certified
                    : name == "bandit"  ? PolicyKind::bandit
                                        : PolicyKind::exhaustive,
            .alpha = alpha,
            .delta = delta,
            .margin = margin,
            .block = block,
            .seed = seed,
            .radius = radius == "paper" ? Radius::paper : Radius::serfling};
}

const char* name_of(Guarantee guarantee) {
    switch (guarantee) {
        case Guarantee::exact:
            return "exact";
        case Guarantee::pac:
            return "pac";
        default:
            return "none";
    }
}

// Positions, scores, what `Report` is made of, and the trace.
nb::tuple to_python(const Answer& answer, bool trace) {
    nb::list positions;
    std::vector<float> scores;
    scores.reserve(answer.hits.size());
    for (const Scored& hit : answer.hits) {
        positions.append(hit.position);
        scores.push_back(hit.score);
    }
    nb::list rounds;
    for (const Round& round : answer.rounds)
        rounds.append(nb::make_tuple(round.active, round.revealed, round.threshold));
    nb::dict stages;
    for (const auto& [stage, seconds] : answer.stages) stages[stage.c_str()] = seconds;
    const nb::tuple report = nb::make_tuple(name_of(answer.guarantee), answer.coverage, answer.rescored, rounds,
                                            answer.isa, answer.seconds, stages);
    return nb::make_tuple(positions, to_numpy(std::move(scores), {answer.hits.size()}), report,
                          trace ? to_numpy(std::vector<int32_t>(answer.dropped), {answer.dropped.size()}) : nb::none());
}

nb::list search_all(const HeldCorpus& held, const std::vector<Matrix<const float>>& rows,
                    const std::vector<Flat<const int64_t>>& candidates, int64_t k, const std::string& name,
                    double alpha, double delta, int64_t margin, int64_t block, uint64_t seed, const std::string& radius,
                    int threads, bool trace) {
    const Corpus& corpus = held.get();
    const Policy policy = policy_from(name, alpha, delta, margin, block, seed, radius);
    require(held.coded() || policy.kind == PolicyKind::exhaustive, "this policy needs codes");
    require(k >= 1 && threads >= 1, "k and threads must be at least 1");
    require(rows.size() == candidates.size(), "one list of candidates for each query");
    std::vector<Query> queries;
    for (size_t i = 0; i < rows.size(); ++i) {
        require_query(rows[i], corpus);
        const std::span<const int64_t> positions(candidates[i].data(), candidates[i].shape(0));
        for (size_t p = 0; p < positions.size(); ++p) {
            require_position(positions[p], corpus);
            require(p == 0 || positions[p - 1] < positions[p], "candidates must ascend");
        }
        queries.push_back({rows[i].data(), static_cast<int64_t>(rows[i].shape(0)), positions});
    }
    const std::vector<Answer> answers = interruptible(
        [&](const std::function<bool()>& poll) { return search(corpus, queries, k, policy, threads, trace, poll); });
    nb::list result;
    for (const Answer& answer : answers) result.append(to_python(answer, trace));
    return result;
}

// P - eps and P + eps of every document, which must not be empty.
nb::tuple bounds_of_all(const HeldCorpus& held, const Matrix<const float>& rows, int threads) {
    const Corpus& corpus = held.get();
    require_query(rows, corpus);
    require(held.coded() && threads >= 1, "bounds need codes and a thread");
    std::vector<int64_t> positions(static_cast<size_t>(corpus.documents()));
    std::iota(positions.begin(), positions.end(), 0);
    CertifiedBounds bounds = interruptible([&](const std::function<bool()>& poll) {
        Interrupt interrupt(poll);
        Crew crew(threads, interrupt);
        const Query query{rows.data(), static_cast<int64_t>(rows.shape(0)), positions};
        const Policy policy{};
        return certified_bounds({corpus, {&query, 1}, 1, policy, current_kernel(), crew, interrupt, false}).front();
    });
    const size_t count = positions.size();
    return nb::make_tuple(to_numpy(std::move(bounds.lower), {count}), to_numpy(std::move(bounds.upper), {count}));
}

// What use(rescorer, positions) makes of all documents.
template <typename Use>
std::vector<float> rescore_all(const Corpus& corpus, const std::vector<Matrix<const float>>& rows, int threads,
                               const Use& use) {
    require(threads >= 1, "threads must be at least 1");
    for (const auto& query : rows) require_query(query, corpus);
    std::vector<int64_t> positions(static_cast<size_t>(corpus.documents()));
    std::iota(positions.begin(), positions.end(), 0);
    std::vector<Query> queries;
    for (const auto& query : rows) {
        queries.push_back({query.data(), static_cast<int64_t>(query.shape(0)), positions});
    }
    return interruptible([&](const std::function<bool()>& poll) {
        Interrupt interrupt(poll);
        Crew crew(threads, interrupt);
        const Policy policy{.kind = PolicyKind::exhaustive};
        const Task task{corpus, queries, 1, policy, current_kernel(), crew, interrupt, false};
        Rescorer rescorer(task, queries, crew);
        return use(rescorer, positions);
    });
}

// Canonical scores [queries, documents] of everything against everything.
nb::object score_all(const HeldCorpus& held, const std::vector<Matrix<const float>>& rows, int threads) {
    const auto documents = static_cast<size_t>(held.get().documents());
    return to_numpy(rescore_all(held.get(), rows, threads,
                                [](Rescorer& rescorer, const auto& positions) { return rescorer.scores(positions); }),
                    {rows.size(), documents});
}

// Canonical cells [documents, tokens] of one query.
nb::object cells_of_all(const HeldCorpus& held, const Matrix<const float>& query, int threads) {
    const auto documents = static_cast<size_t>(held.get().documents());
    return to_numpy(rescore_all(held.get(), {query}, threads,
                                [](Rescorer& rescorer, const auto& positions) { return rescorer.cells(positions); }),
                    {documents, query.shape(0)});
}

nb::tuple explain(const HeldCorpus& held, const Matrix<const float>& query, int64_t position) {
    const Corpus& corpus = held.get();
    require_query(query, corpus);
    require_position(position, corpus);
    const size_t tokens = query.shape(0);
    std::vector<int64_t> best(tokens);
    std::vector<float> similarities(tokens);
    interruptible([&](const std::function<bool()>& poll) {
        Interrupt interrupt(poll);
        const Panels panels(query.data(), static_cast<int64_t>(tokens), corpus.d());
        size_t hint = 0;
        CanonicalScorer(current_kernel(), panels, interrupt)
            .explain(corpus.at(position, hint), best.data(), similarities.data());
        return 0;
    });
    return nb::make_tuple(to_numpy(std::move(best), {tokens}), to_numpy(std::move(similarities), {tokens}));
}

// Fills rows, codes, scale, rho and nu from arrays laid end to end; returns the first document with a bad value, or -1.
int64_t ingest_into(const nb::list& arrays, const Flat<const int64_t>& offsets, const AnyWritableMatrix& rows,
                    const Matrix<int8_t>& codes, const Flat<float>& scale, const Flat<float>& rho,
                    const Flat<float>& nu, bool cosine, int threads) {
    // A segment of the same arrays makes all their checks.
    const HeldSegment checked{
        AnyMatrix(rows),      offsets, Matrix<const int8_t>(codes), Flat<const float>(scale), Flat<const float>(rho),
        Flat<const float>(nu)};
    const PythonRows given(arrays, checked.d());
    const Source source = given.source(checked.d());
    require(source.rows() == static_cast<int64_t>(rows.shape(0)), "the arrays must have the segment's rows");
    require(threads >= 1, "threads must be at least 1");
    const Segment& view = checked.view();
    const NewSegment out{view.documents, checked.d(),  view.offsets, rows.data(), view.half,
                         codes.data(),   scale.data(), rho.data(),   nu.data()};
    return interruptible([&](const std::function<bool()>& poll) {
        Interrupt interrupt(poll);
        return ingest(source, cosine, out, threads, interrupt);
    });
}

int64_t find_invalid_row(const Matrix<const float>& rows) {
    const nb::gil_scoped_release released;
    return first_invalid_row(rows.data(), static_cast<int64_t>(rows.shape(0)), static_cast<int64_t>(rows.shape(1)));
}

void normalise_rows(const Matrix<float>& rows) {
    const nb::gil_scoped_release released;
    const DefaultFloatingPoint state;
    normalise(rows.data(), static_cast<int64_t>(rows.shape(0)), static_cast<int64_t>(rows.shape(1)));
}

std::vector<std::string> isa_names() {
    std::vector<std::string> names;
    for (const Kernel* kernel : available_kernels()) names.emplace_back(kernel->name);
    return names;
}

}  // namespace
}  // namespace maxsieve

NB_MODULE(_core, m) {
    using namespace maxsieve;
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const DamagedData& damage) {
            const nb::object type = nb::module_::import_("maxsieve.errors").attr("DamagedIndexError");
            PyErr_SetString(type.ptr(), damage.what());
        }
    });
    nb::class_<HeldSegment>(m, "Segment")
        .def(nb::init<AnyMatrix, Flat<const int64_t>>(), "rows"_a, "offsets"_a)
        .def(nb::init<AnyMatrix, Flat<const int64_t>, Matrix<const int8_t>, Flat<const float>, Flat<const float>,
                      Flat<const float>>(),
             "rows"_a, "offsets"_a, "codes"_a, "scale"_a, "rho"_a, "nu"_a);
    nb::class_<HeldCorpus>(m, "Corpus").def(nb::init<int64_t, nb::tuple>(), "dim"_a, "segments"_a);
    m.def("search", &search_all, "corpus"_a, "queries"_a, "candidates"_a, "k"_a, "policy"_a, "alpha"_a, "delta"_a,
          "margin"_a, "block"_a, "seed"_a, "radius"_a, "threads"_a, "trace"_a);
    m.def("bounds", &bounds_of_all, "corpus"_a, "query"_a, "threads"_a);
    m.def("score", &score_all, "corpus"_a, "queries"_a, "threads"_a);
    m.def("cells", &cells_of_all, "corpus"_a, "query"_a, "threads"_a);
    m.def("explain", &explain, "corpus"_a, "query"_a, "position"_a);
    m.def("ingest", &ingest_into, "arrays"_a, "offsets"_a, "rows"_a.noconvert(), "codes"_a.noconvert(),
          "scale"_a.noconvert(), "rho"_a.noconvert(), "nu"_a.noconvert(), "cosine"_a, "threads"_a);
    m.def("first_invalid_row", &find_invalid_row, "rows"_a);
    m.def("normalise", &normalise_rows, "rows"_a.noconvert());
    m.def("code_stride", &code_stride, "dim"_a);
    m.def("isa", [] { return std::string(current_kernel().name); });
    m.def("isas", &isa_names);
    m.def("use_isa", &use_kernel, "name"_a);
}
