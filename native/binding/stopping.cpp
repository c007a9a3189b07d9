#include "binding/stopping.hpp"

namespace nb = nanobind;

namespace maxsieve {

void bind_stopping(nb::module_& m) {
    nb::exception<StoppedError>(m, "StoppedError");
    nb::class_<Stop>(m, "Stop")
        .def(nb::init<>())
        .def("request", &Stop::request)
        .def_prop_ro("requested", &Stop::requested)
        .def("check",
             [](const Stop& self) {
                 if (self.requested()) throw StoppedError();
             })
        .def(
            "__enter__",
            [](Stop& self) -> Stop& {
                self.enter();
                return self;
            },
            nb::rv_policy::reference)
        .def(
            "__exit__", [](Stop& self, const nb::args&) { self.leave(); },
            nb::sig("def __exit__(self, *problem: object) -> None"));
}

}  // namespace maxsieve
