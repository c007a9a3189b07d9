// The part of the module that takes vectors in.
#pragma once

#include <nanobind/nanobind.h>

namespace maxsieve {

// ingest, first_invalid_row, normalise, DefaultFloatingPoint.
void bind_ingest(nanobind::module_& m);

}  // namespace maxsieve
