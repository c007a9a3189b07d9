// The module `maxsieve._core`: everything of the engine that Python sees.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "binding/codebook.hpp"
#include "binding/corpus.hpp"
#include "binding/ingest.hpp"
#include "binding/lists.hpp"
#include "binding/residual.hpp"
#include "binding/search.hpp"
#include "binding/stopping.hpp"
#include "binding/without_gil.hpp"
#include "kernels/table.hpp"
#include "search/damage.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace maxsieve {
namespace {

std::vector<std::string> isa_names() {
    std::vector<std::string> names;
    for (const Kernel* kernel : available_kernels()) names.emplace_back(kernel->name);
    return names;
}

// Why this interpreter can't use the module, or null if it can.
const char* unsupported() {
    // Work runs without the GIL, and a thread takes the GIL back through the main interpreter. In another interpreter
    // it would wait for itself. nanobind's types belong to one interpreter, too.
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {  // the main interpreter has the number 0
        return "maxsieve can't be used in a subinterpreter: import it in the main interpreter, or in a process of its "
               "own";
    }
    // A free-threaded Python has "t" in its ABI flags. The engine relies on the GIL whenever it uses Python objects.
    PyObject* flags = PySys_GetObject("abiflags");
    const char* text = flags == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(flags, nullptr);
    if (text == nullptr) PyErr_Clear();
    if (text != nullptr && std::strchr(text, 't') != nullptr) {
        return "maxsieve does not support free-threaded Python (3.13t, 3.14t): use the usual build, with the GIL";
    }
    return nullptr;
}

}  // namespace
}  // namespace maxsieve

NB_MODULE(_core_supported, m) {
    using namespace maxsieve;
    // When the interpreter ends, nanobind reports objects that are still alive as leaks: for example an index in a
    // daemon thread. Tests turn these reports on.
    nb::set_leak_warnings(false);
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const DamagedData& damage) {
            const nb::object type = nb::module_::import_("maxsieve.errors").attr("DamagedIndexError");
            PyErr_SetString(type.ptr(), damage.what());
        }
    });
    bind_codebook(m);
    bind_list_parts(m);
    bind_corpus(m);
    bind_making_lists(m);
    bind_policies(m);
    bind_traces(m);
    bind_answers(m);
    bind_search(m);
    bind_ingest(m);
    bind_residual(m);
    bind_stopping(m);
    wait_for_work_at_exit();
    m.def("isa", [] { return current_kernel().name; });
    m.def("isas", &isa_names);
    m.def("use_isa", &use_kernel, "name"_a);
    m.def("set_leak_warnings", &nb::set_leak_warnings, "on"_a);
}

// Python calls this for `import _core`. It refuses before nanobind is set up, because a second interpreter that sets up
// nanobind would break it for the first.
extern "C" NB_EXPORT PyObject* PyInit__core() {
    if (const char* why = maxsieve::unsupported()) {
        PyErr_SetString(PyExc_ImportError, why);
        return nullptr;
    }
    return PyInit__core_supported();
}
