// Parameters that take arrays of several types of numbers. nanobind accepts them, but its type stubs can't list these
// types. The casters below do.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace maxsieve {

// Rows as a segment stores them: float32, or float16 viewed as uint16.
template <class Matrix>
struct StoredRows {
    Matrix matrix;
};
using ReadMatrix = nanobind::ndarray<nanobind::ro, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;
using WrittenMatrix = nanobind::ndarray<nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;
using ReadRows = StoredRows<ReadMatrix>;
using WrittenRows = StoredRows<WrittenMatrix>;

// Arrays of any float type; `PythonRows` reads them.
struct AnyFloats {};
using ArrayList = nanobind::typed<nanobind::list, AnyFloats>;

// Ascending positions: an array, which is checked in each call, or `Candidates`, which were checked once.
struct AnyCandidates {};
using CandidatesSequence = nanobind::typed<nanobind::sequence, AnyCandidates>;

}  // namespace maxsieve

namespace nanobind::detail {

template <class Matrix>
struct type_caster<maxsieve::StoredRows<Matrix>> {
    NB_TYPE_CASTER(maxsieve::StoredRows<Matrix>,
                   const_name("numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.uint16]"))

    bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
        make_caster<Matrix> caster;
        if (!caster.from_python(source, flags, cleanup)) return false;
        value.matrix = std::move(caster.value);
        return true;
    }
};

template <>
struct type_caster<maxsieve::AnyFloats> {
    static constexpr auto Name = const_name("numpy.typing.NDArray[typing.Any]");
};

template <>
struct type_caster<maxsieve::AnyCandidates> {
    static constexpr auto Name = const_name("numpy.typing.NDArray[numpy.int64] | Candidates");
};

}  // namespace nanobind::detail
