// Long work without the GIL, which Ctrl-C can end, and so can the stop that its thread watches.
#pragma once

#include <nanobind/nanobind.h>

#include "binding/stopping.hpp"
#include "numeric/floating_point.hpp"
#include "threads/interrupt.hpp"

namespace maxsieve {

// Runs `work(interrupt)` without the GIL; the calling thread takes it back now and then to see pending signals. The
// KeyboardInterrupt that they raise is a failure like any other: nanobind keeps it in the exception thrown here.
template <class Work>
auto interruptible(const Work& work) {
    Stop::check();
    const nanobind::gil_scoped_release released;
    const DefaultFloatingPoint state;
    Interrupt interrupt([] {
        Stop::check();
        const nanobind::gil_scoped_acquire held;
        if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    });
    return work(interrupt);
}

}  // namespace maxsieve
