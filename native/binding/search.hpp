// The functions of the module that search.
#pragma once

#include <nanobind/nanobind.h>

namespace maxsieve {

void bind_policies(nanobind::module_& m);
void bind_answers(nanobind::module_& m);
void bind_traces(nanobind::module_& m);

// search, bounds, score, score_arrays, cells, explain.
void bind_search(nanobind::module_& m);

}  // namespace maxsieve
