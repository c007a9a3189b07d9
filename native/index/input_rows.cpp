#include "index/input_rows.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace maxsieve {
namespace {

struct Float16 {
    uint16_t bits;
};
struct Bfloat16 {
    uint16_t bits;
};

void to_float32(const Float16* from, int64_t count, const Kernel& kernel, float* out) {
    kernel.widen(&from->bits, count, out);
}

void to_float32(const Bfloat16* from, int64_t count, const Kernel&, float* out) {
    for (int64_t k = 0; k < count; ++k) {
        const uint32_t bits = static_cast<uint32_t>(from[k].bits) << 16;
        std::memcpy(out + k, &bits, sizeof bits);
    }
}

void to_float32(const float* from, int64_t count, const Kernel&, float* out) {
    std::memcpy(out, from, sizeof(float) * static_cast<size_t>(count));
}

void to_float32(const double* from, int64_t count, const Kernel&, float* out) {
    for (int64_t k = 0; k < count; ++k) out[k] = static_cast<float>(from[k]);
}

// Numbers that lie `step` bytes apart. They are gathered in blocks, then converted.
template <class T>
void read_scattered(const char* from, int64_t count, int64_t step, const Kernel& kernel, float* out) {
    constexpr int64_t kSome = 64;
    T some[kSome];
    for (int64_t first = 0; first < count; first += kSome) {
        const int64_t now = std::min(kSome, count - first);
        for (int64_t k = 0; k < now; ++k) std::memcpy(some + k, from + (first + k) * step, sizeof(T));
        to_float32(some, now, kernel, out + first);
    }
}

template <class T>
void read_piece(const Piece& piece, int64_t first, int64_t count, int64_t d, const Kernel& kernel, float* out) {
    constexpr int64_t kSize = sizeof(T);
    const char* from = piece.data + first * piece.row_step;
    const bool aligned = reinterpret_cast<uintptr_t>(from) % kSize == 0 && piece.row_step % kSize == 0;
    if (!aligned || piece.column_step != kSize) {
        for (int64_t j = 0; j < count; ++j) {
            read_scattered<T>(from + j * piece.row_step, d, piece.column_step, kernel, out + j * d);
        }
    } else if (piece.row_step == d * kSize) {
        to_float32(reinterpret_cast<const T*>(from), count * d, kernel, out);
    } else {
        for (int64_t j = 0; j < count; ++j) {
            to_float32(reinterpret_cast<const T*>(from + j * piece.row_step), d, kernel, out + j * d);
        }
    }
}

}  // namespace

InputRows::InputRows(int64_t d, std::vector<Piece> pieces) : d_(d), pieces_(std::move(pieces)), starts_{0} {
    starts_.reserve(pieces_.size() + 1);
    for (const Piece& piece : pieces_) starts_.push_back(starts_.back() + piece.rows);
}

size_t InputRows::piece_at(int64_t row) const {
    return static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), row) - starts_.begin()) - 1;
}

const float* InputRows::in_place(int64_t first, int64_t count) const {
    const size_t at = piece_at(first);
    const Piece& piece = pieces_[at];
    const bool plain = piece.type == Number::float32 && piece.column_step == sizeof(float) &&
                       piece.row_step == d_ * static_cast<int64_t>(sizeof(float));
    const char* from = piece.data + (first - starts_[at]) * piece.row_step;
    const bool aligned = reinterpret_cast<uintptr_t>(from) % sizeof(float) == 0;
    if (!plain || !aligned || first + count > starts_[at + 1]) return nullptr;
    return reinterpret_cast<const float*>(from);
}

void InputRows::read(int64_t first, int64_t count, const Kernel& kernel, float* out) const {
    size_t at = piece_at(first);
    for (const int64_t end = first + count; first < end; ++at) {
        const Piece& piece = pieces_[at];
        const int64_t now = std::min(end, starts_[at + 1]) - first;
        const auto read = piece.type == Number::float16    ? read_piece<Float16>
                          : piece.type == Number::bfloat16 ? read_piece<Bfloat16>
                          : piece.type == Number::float32  ? read_piece<float>
                                                           : read_piece<double>;
        read(piece, first - starts_[at], now, d_, kernel, out);
        first += now;
        out += now * d_;
    }
}

}  // namespace maxsieve
