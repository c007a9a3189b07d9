// The functions of the module that take vectors as input.
#pragma once

#include <nanobind/nanobind.h>

namespace maxsieve {

// ingest, first_invalid_row, normalise, DefaultFloatingPoint.
void bind_ingest(nanobind::module_& m);

}  // namespace maxsieve
