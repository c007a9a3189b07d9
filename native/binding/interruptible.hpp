// Long work without the GIL, which Ctrl-C can end, and so can the stop that its thread watches, and the end of Python.
#pragma once

#include <nanobind/nanobind.h>

#include "binding/stopping.hpp"
#include "binding/without_gil.hpp"
#include "numeric/floating_point.hpp"
#include "threads/interrupt.hpp"

namespace maxsieve {

// Runs `work(interrupt)` without the GIL; the calling thread takes it back now and then to see pending signals. The
// KeyboardInterrupt that they raise is a failure like any other: nanobind keeps it in the exception thrown here.
template <class Work>
auto interruptible(const Work& work) {
    Stop::check();
    const WithoutGil released;
    const DefaultFloatingPoint state;
    Interrupt interrupt([&released] {
        released.check();
        Stop::check();
        const nanobind::gil_scoped_acquire held;
        if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    });
    return work(interrupt);
}

}  // namespace maxsieve
