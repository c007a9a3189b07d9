// Arrays between Python and C++. Shapes and types are checked here even if the Python layer has checked them, so that
// no call can read out of bounds.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace maxsieve {

template <class T>
using Flat = nanobind::ndarray<T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
template <class T>
using Matrix = nanobind::ndarray<T, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

// Types of results: NumPy arrays, and lists, tuples and dicts with the types of their items. The type stubs are made
// from them.
template <class T>
using Array = nanobind::typed<nanobind::object, nanobind::ndarray<nanobind::numpy, T>>;
template <class T>
using List = nanobind::typed<nanobind::list, T>;
template <class... T>
using Tuple = nanobind::typed<nanobind::tuple, T...>;
template <class T>
using Dict = nanobind::typed<nanobind::dict, nanobind::str, T>;

inline void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

template <class T>
Array<T> to_numpy(std::vector<T> values, std::initializer_list<size_t> shape) {
    auto owned = std::make_unique<std::vector<T>>(std::move(values));
    T* data = owned->data();
    const nanobind::capsule owner(
        owned.release(), [](void* p) noexcept { std::unique_ptr<std::vector<T>>(static_cast<std::vector<T>*>(p)); });
    return nanobind::cast(nanobind::ndarray<nanobind::numpy, T>(data, shape, owner));
}

}  // namespace maxsieve
