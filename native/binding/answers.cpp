// What Python sees of an answer. A property makes its Python objects only when it is read: most reports are never read.

#include "binding/arrays.hpp"
#include "binding/search.hpp"
#include "search/answer.hpp"

namespace nb = nanobind;

namespace maxsieve {
namespace {

List<int64_t> positions(const Answer& answer) {
    nb::list positions;
    for (const Scored& hit : answer.hits) positions.append(hit.position);
    return positions;
}

Array<float> scores(const Answer& answer) {
    std::vector<float> scores;
    scores.reserve(answer.hits.size());
    for (const Scored& hit : answer.hits) scores.push_back(hit.score);
    return to_numpy(std::move(scores), {answer.hits.size()});
}

const char* guarantee(const Answer& answer) {
    switch (answer.guarantee) {
        case Guarantee::exact:
            return "exact";
        case Guarantee::pac:
            return "pac";
        default:
            return "none";
    }
}

List<Tuple<int64_t, int64_t, double>> rounds(const Answer& answer) {
    nb::list rounds;
    for (const Round& round : answer.rounds) {
        rounds.append(nb::make_tuple(round.active, round.revealed, round.threshold));
    }
    return rounds;
}

Dict<double> stages(const Answer& answer) {
    nb::dict stages;
    for (const auto& [stage, seconds] : answer.stages) stages[stage] = seconds;
    return stages;
}

Dict<int64_t> counts(const Answer& answer) {
    nb::dict counts;
    for (const auto& [what, count] : answer.counts) counts[what] = count;
    return counts;
}

}  // namespace

void bind_answers(nb::module_& m) {
    nb::class_<Answer>(m, "Answer")
        .def_prop_ro("positions", &positions)
        .def_prop_ro("scores", &scores)
        .def_prop_ro("guarantee", &guarantee,
                     nb::for_getter(nb::sig("def guarantee(self) -> typing.Literal['exact', 'pac', 'none']")))
        .def_ro("coverage", &Answer::coverage)
        .def_ro("survivors", &Answer::survivors)
        .def_ro("rescored", &Answer::rescored)
        .def_prop_ro("rounds", &rounds)
        .def_prop_ro("isa", [](const Answer& answer) { return answer.isa; })
        .def_ro("seconds", &Answer::seconds)
        .def_prop_ro("stages", &stages)
        .def_prop_ro("counts", &counts)
        .def_prop_ro(
            "trace", [](const Answer& answer) { return answer.trace.get(); }, nb::rv_policy::reference_internal,
            nb::for_getter(nb::sig("def trace(self) -> Trace | None")));
}

}  // namespace maxsieve
