// The policies and their parameters.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "binding/arrays.hpp"
#include "binding/candidates.hpp"
#include "binding/search.hpp"
#include "search/bandit.hpp"
#include "search/calibrated.hpp"
#include "search/certified.hpp"
#include "search/exhaustive.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace maxsieve {
namespace {

BanditKnobs knobs(double alpha, double delta, int64_t margin, int64_t block, uint64_t seed, const std::string& radius) {
    require(radius == "paper" || radius == "serfling", "unknown radius");
    require(alpha > 0.0 && alpha <= 1.0 && delta > 0.0 && delta < 1.0 && margin >= 0 && block >= 1,
            "knob out of range");
    return {alpha, delta, margin, block, seed, radius == "paper" ? Radius::paper : Radius::serfling};
}

}  // namespace

std::optional<WalkShape> to_shape(const std::optional<WalkPair>& walk) {
    if (!walk) return std::nullopt;
    require(walk->first >= 1 && walk->second >= 1, "a walk needs a centroid near each token, and an open group");
    return WalkShape{walk->first, walk->second};
}

void bind_policies(nb::module_& m) {
    nb::class_<Policy>(m, "Policy");
    nb::class_<Certified, Policy>(m, "Certified").def(nb::init<>());
    nb::class_<Exhaustive, Policy>(m, "Exhaustive").def(nb::init<>());
    nb::class_<Calibrated, Policy>(m, "Calibrated")
        .def(
            "__init__",
            [](Calibrated* self, int64_t depth, double mean_length, std::optional<WalkPair> walk,
               const Candidates* added) {
                require(depth >= 1 && mean_length > 0.0, "depth must be at least 1, and documents must have a length");
                const auto positions = added == nullptr ? std::span<const int64_t>() : added->positions();
                new (self) Calibrated(depth, mean_length, to_shape(walk), positions);
            },
            "depth"_a, "mean_length"_a, "walk"_a = nb::none(), "added"_a.none() = nb::none(), nb::keep_alive<1, 5>());
    nb::class_<Bandit, Policy>(m, "Bandit")
        .def(
            "__init__",
            [](Bandit* self, double alpha, double delta, int64_t margin, int64_t block, uint64_t seed,
               const std::string& radius) { new (self) Bandit(knobs(alpha, delta, margin, block, seed, radius)); },
            "alpha"_a, "delta"_a, "margin"_a, "block"_a, "seed"_a, "radius"_a);
}

}  // namespace maxsieve
