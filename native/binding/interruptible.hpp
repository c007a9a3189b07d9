// Long work without the GIL, which Ctrl-C can end.
#pragma once

#include <nanobind/nanobind.h>

#include "numeric/floating_point.hpp"
#include "threads/interrupt.hpp"

namespace maxsieve {

// Runs `work(interrupt)` without the GIL; the calling thread takes it back now and then to see pending signals. The
// KeyboardInterrupt that they raise is a failure like any other: nanobind keeps it in the exception thrown here.
template <class Work>
auto interruptible(const Work& work) {
    const nanobind::gil_scoped_release released;
    const DefaultFloatingPoint state;
    Interrupt interrupt([] {
        const nanobind::gil_scoped_acquire held;
        if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    });
    return work(interrupt);
}

}  // namespace maxsieve
