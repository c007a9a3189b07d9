// What Python sees of a trace. A property makes its arrays only when it is read.

#include <nanobind/stl/optional.h>

#include <optional>

#include "binding/arrays.hpp"
#include "binding/search.hpp"
#include "search/trace.hpp"

namespace nb = nanobind;

namespace maxsieve {
namespace {

template <class T>
Array<T> copy_of(const std::vector<T>& values) {
    return to_numpy(values, {values.size()});
}

List<Tuple<int64_t, int64_t, int64_t, double, Array<double>, Array<double>>> traced_rounds(const Trace& trace) {
    nb::list rounds;
    for (const Trace::Round& round : trace.rounds) {
        rounds.append(nb::make_tuple(round.active, round.dropped, round.revealed, round.threshold, copy_of(round.lower),
                                     copy_of(round.upper)));
    }
    return rounds;
}

// An array with use(score) for each score.
template <class T, class Use>
Array<T> of_scores(const Trace& trace, const Use& use) {
    std::vector<T> values;
    values.reserve(trace.scores.size());
    for (const Trace::Score& one : trace.scores) values.push_back(use(one));
    return copy_of(values);
}

Array<int64_t> rescored(const Trace& trace) {
    return of_scores<int64_t>(trace, [&](const Trace::Score& one) { return trace.place(one.position); });
}

Array<float> traced_scores(const Trace& trace) {
    return of_scores<float>(trace, [](const Trace::Score& one) { return one.score; });
}

Array<double> thresholds(const Trace& trace) {
    return of_scores<double>(trace, [](const Trace::Score& one) { return one.threshold; });
}

std::optional<Tuple<int64_t, double>> unseen(const Trace& trace) {
    if (trace.unseen < 0) return std::nullopt;
    return nb::make_tuple(trace.unseen, trace.unseen_upper);
}

Dict<int64_t> bytes(const Trace& trace) {
    nb::dict bytes;
    for (const auto& [stage, count] : trace.bytes) bytes[stage] = count;
    return bytes;
}

}  // namespace

void bind_traces(nb::module_& m) {
    nb::class_<Trace>(m, "Trace")
        .def_prop_ro("policy", [](const Trace& trace) { return trace.policy; })
        .def_ro("k", &Trace::k)
        .def_ro("documents", &Trace::documents)
        .def_prop_ro("shown", [](const Trace& trace) { return copy_of(trace.shown); })
        .def_prop_ro("tokens", [](const Trace& trace) { return copy_of(trace.tokens); })
        .def_prop_ro("tier0", [](const Trace& trace) { return copy_of(trace.tier0); })
        .def_prop_ro("rounds", &traced_rounds)
        .def_prop_ro("dropped", [](const Trace& trace) { return copy_of(trace.dropped); })
        .def_prop_ro("rescored", &rescored)
        .def_prop_ro("scores", &traced_scores)
        .def_prop_ro("thresholds", &thresholds)
        .def_prop_ro("unseen", &unseen)
        .def_prop_ro("bytes", &bytes)
        .def_ro("bytes_of_all", &Trace::bytes_of_all);
}

}  // namespace maxsieve
