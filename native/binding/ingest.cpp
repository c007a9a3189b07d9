#include "binding/ingest.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "binding/arrays.hpp"
#include "binding/corpus.hpp"
#include "binding/interruptible.hpp"
#include "binding/rows.hpp"
#include "binding/without_gil.hpp"
#include "index/ingest.hpp"
#include "index/normalise.hpp"
#include "kernels/table.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace maxsieve {
namespace {

// Fills rows, codes, scale, rho and nu from arrays laid end to end. If rows is None, the vectors are codes times scale.
// If `rotated`, all of this is in the rotated space. Returns the first document with a bad value, or -1.
int64_t ingest_into(const ArrayList& arrays, int64_t d, const Flat<const int64_t>& offsets,
                    const std::optional<WrittenRows>& rows, const Matrix<int8_t>& codes, const Flat<float>& scale,
                    const Flat<float>& rho, const Flat<float>& nu, bool cosine, int threads, bool rotated) {
    // A segment checks these arrays when it is made.
    const HeldSegment checked(d, offsets, rows ? std::optional(ReadRows{ReadMatrix(rows->matrix)}) : std::nullopt,
                              Matrix<const int8_t>(codes), Flat<const float>(scale), Flat<const float>(rho),
                              Flat<const float>(nu), std::nullopt, std::nullopt, std::nullopt, std::nullopt, 0,
                              std::nullopt);
    const Segment& view = checked.view();
    const PythonRows given(arrays, d);
    const InputRows input = given.input(d);
    require(input.rows() == static_cast<int64_t>(codes.shape(0)), "the arrays must have the segment's rows");
    require(threads >= 1, "threads must be at least 1");
    const NewSegment out{
        view.documents, d,          view.offsets, view.stored, rows ? rows->matrix.data() : nullptr, codes.data(),
        scale.data(),   rho.data(), nu.data()};
    const Rotation rotation(d);
    return interruptible([&](Interrupt& interrupt) {
        return ingest(input, cosine, rotated ? &rotation : nullptr, out, threads, interrupt);
    });
}

int64_t find_invalid_row(const Matrix<const float>& rows) {
    const WithoutGil released;
    return first_invalid_row(current_kernel(), rows.data(), static_cast<int64_t>(rows.shape(0)),
                             static_cast<int64_t>(rows.shape(1)));
}

void normalise_rows(const Matrix<float>& rows) {
    const WithoutGil released;
    const DefaultFloatingPoint state;
    normalise(rows.data(), static_cast<int64_t>(rows.shape(0)), static_cast<int64_t>(rows.shape(1)));
}

// `with DefaultFloatingPoint(): ...` for conversions in NumPy.
class FloatingPointGuard {
  public:
    void enter() { state_.emplace(); }
    void leave(const nb::args&) { state_.reset(); }

  private:
    std::optional<DefaultFloatingPoint> state_;
};

}  // namespace

void bind_ingest(nb::module_& m) {
    m.def("ingest", &ingest_into, "arrays"_a, "dim"_a, "offsets"_a, "rows"_a.noconvert().none(), "codes"_a.noconvert(),
          "scale"_a.noconvert(), "rho"_a.noconvert(), "nu"_a.noconvert(), "cosine"_a, "threads"_a, "rotated"_a = false);
    m.def("first_invalid_row", &find_invalid_row, "rows"_a);
    m.def("normalise", &normalise_rows, "rows"_a.noconvert());
    nb::class_<FloatingPointGuard>(m, "DefaultFloatingPoint")
        .def(nb::init<>())
        .def("__enter__", &FloatingPointGuard::enter)
        .def("__exit__", &FloatingPointGuard::leave, nb::sig("def __exit__(self, *problem: object) -> None"));
}

}  // namespace maxsieve
