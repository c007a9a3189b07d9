// Long work without the GIL. It ends early on Ctrl-C, on a requested stop that its thread watches, and when Python
// ends.
#pragma once

#include <nanobind/nanobind.h>

#include "binding/stopping.hpp"
#include "binding/without_gil.hpp"
#include "numeric/floating_point.hpp"
#include "threads/interrupt.hpp"

namespace maxsieve {

// Runs `work(interrupt)` without the GIL. The calling thread takes the GIL back from time to time to see pending
// signals. A signal may raise KeyboardInterrupt, which is a failure like any other: nanobind carries it in a C++
// exception.
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
