// The functions of the module that search.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "search/near_centroids.hpp"

namespace maxsieve {

// How lists are walked, as Python gives it: the centroids near each query token, and the groups they are looked for in.
using WalkPair = std::pair<int64_t, int64_t>;
std::optional<WalkShape> to_shape(const std::optional<WalkPair>& walk);

void bind_policies(nanobind::module_& m);
void bind_answers(nanobind::module_& m);
void bind_traces(nanobind::module_& m);

// search, bounds, score, score_arrays, cells, explain.
void bind_search(nanobind::module_& m);

}  // namespace maxsieve
