// A Python list of arrays as `InputRows`. It uses the buffer protocol, which is much faster than nb::ndarray: there may
// be a million documents with an array each.
#pragma once

#include <nanobind/nanobind.h>

#include <bit>
#include <deque>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "index/input_rows.hpp"

namespace maxsieve {

// Keeps the arrays' buffers alive. Construct and destroy it with the GIL held.
class PythonRows {
  public:
    // Arrays [rows, d] of float16, float32 or float64 in the machine's byte order. uint16 means bfloat16.
    PythonRows(const nanobind::list& arrays, int64_t d) {
        pieces_.reserve(arrays.size());
        for (const nanobind::handle array : arrays) {
            views_.emplace_back(array);
            const Py_buffer& view = views_.back().get();
            if (view.ndim != 2 || view.shape[1] != d) throw std::invalid_argument("every array must be [rows, d]");
            pieces_.push_back({static_cast<const char*>(view.buf), view.shape[0], view.strides[0], view.strides[1],
                               number_type(view)});
        }
    }

    InputRows input(int64_t d) const { return {d, pieces_}; }

  private:
    class View {
      public:
        explicit View(nanobind::handle array) {
            if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_RECORDS_RO) != 0) throw nanobind::python_error();
        }
        ~View() { PyBuffer_Release(&view_); }
        View(const View&) = delete;
        View& operator=(const View&) = delete;
        const Py_buffer& get() const { return view_; }

      private:
        Py_buffer view_{};
    };

    static Number number_type(const Py_buffer& view) {
        constexpr char kNative = std::endian::native == std::endian::little ? '<' : '>';
        std::string_view format = view.format == nullptr ? "" : view.format;
        if (format.size() == 2 && (format[0] == kNative || std::string_view("@=^").find(format[0]) != format.npos)) {
            format.remove_prefix(1);  // arrays that are not aligned have a prefix for the byte order
        }
        if (format.size() == 1) {
            switch (format[0]) {
                case 'e':
                    return Number::float16;
                case 'H':
                    return Number::bfloat16;
                case 'f':
                    return Number::float32;
                case 'd':
                    return Number::float64;
            }
        }
        throw std::invalid_argument("every array must be of floats");
    }

    std::deque<View> views_;  // a deque, because a Py_buffer may point into itself and must not move
    std::vector<Piece> pieces_;
};

}  // namespace maxsieve
