#pragma once

#include <nanobind/nanobind.h>

namespace maxsieve {

void bind_residual(nanobind::module_& m);

}  // namespace maxsieve
