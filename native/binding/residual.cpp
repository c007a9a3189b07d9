#include "binding/residual.hpp"

#include "binding/arrays.hpp"
#include "binding/codebook.hpp"
#include "binding/corpus.hpp"
#include "binding/interruptible.hpp"
#include "binding/without_gil.hpp"
#include "kernels/table.hpp"
#include "residual/encode.hpp"
#include "residual/form.hpp"
#include "residual/rotation.hpp"
#include "threads/crew.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace maxsieve {
namespace {

// Rotates rows in place, or back.
void rotate_rows(const Matrix<float>& rows, bool back) {
    require(rows.shape(1) >= 1 && static_cast<int64_t>(rows.shape(1)) <= kMaxStride,
            "a vector has 1 to 4096 dimensions");
    const WithoutGil released;
    const DefaultFloatingPoint state;
    const Rotation rotation(static_cast<int64_t>(rows.shape(1)));
    const auto count = static_cast<int64_t>(rows.shape(0));
    back ? rotation.backwards(rows.data(), count) : rotation.forwards(rows.data(), count);
}

int64_t bytes_of_levels(int64_t d, int64_t bits) {
    require(is_bits(bits) && d >= 1 && d <= most_dim(bits),
            "residuals have 1, 2 or 4 bits; with 4, at most 2048 numbers");
    return level_bytes(d, bits);
}

// Levels, factors, scale and nu of a segment of byte codes, whose tokens have these centroids.
using Encoded = Tuple<Array<uint8_t>, Array<uint8_t>, Array<float>, Array<float>>;
Encoded encode(const HeldCodebook& held, const HeldSegment& segment, int64_t bits, int threads) {
    const Segment& from = segment.view();
    const Codebook& book = held.view();
    const int64_t d = from.d, bytes = bytes_of_levels(d, bits), stride = code_stride(d);
    require(from.codes != nullptr && from.centroids != nullptr, "the segment must have codes and centroids");
    require(book.d == d && held.serves_residuals(),
            "the codebook must have the segment's dimension, and serve a store");
    require(threads >= 1, "threads must be at least 1");
    const auto documents = static_cast<size_t>(from.documents);
    const auto tokens = static_cast<size_t>(from.offsets[from.documents]);
    for (size_t j = 0; j < tokens; ++j) require(from.centroids[j] < book.centroids, "no such centroid");
    std::vector<uint8_t> levels(tokens * static_cast<size_t>(bytes)), factors(tokens * 2);
    std::vector<float> scale(documents), nu(documents);
    interruptible([&](Interrupt& interrupt) {
        Crew crew(threads, interrupt);
        const Kernel& kernel = current_kernel();
        struct Mine {
            std::vector<ResidualEncoder> encoder;
            std::vector<float> rows;
        };
        std::vector<Mine> all(static_cast<size_t>(crew.size()));
        constexpr int64_t kTogether = 16;
        crew.run((from.documents + kTogether - 1) / kTogether, [&](int64_t task, int worker) {
            Mine& mine = all[static_cast<size_t>(worker)];
            if (mine.encoder.empty()) mine.encoder.emplace_back(kernel, book, bits);
            for (int64_t i = task * kTogether; i < std::min((task + 1) * kTogether, from.documents); ++i) {
                const int64_t first = from.offsets[i], length = from.offsets[i + 1] - first;
                mine.rows.resize(static_cast<size_t>(length * d));
                kernel.scale_codes(from.codes + first * stride, from.scale[i], length, d, stride, mine.rows.data());
                const auto bounds =
                    mine.encoder.front().encode(mine.rows.data(), from.centroids + first, length,
                                                levels.data() + first * bytes, factors.data() + 2 * first);
                scale[static_cast<size_t>(i)] = bounds.scale, nu[static_cast<size_t>(i)] = bounds.nu;
            }
        });
    });
    return nb::make_tuple(to_numpy(std::move(levels), {tokens, static_cast<size_t>(bytes)}),
                          to_numpy(std::move(factors), {tokens, 2}), to_numpy(std::move(scale), {documents}),
                          to_numpy(std::move(nu), {documents}));
}

// The stored rows of a document, in the space of the segment.
Array<float> decode(const HeldSegment& segment, int64_t place) {
    const Segment& from = segment.view();
    require(from.bits > 0, "the segment must have residual bits");
    require(place >= 0 && place < from.documents, "no document at this place");
    const Document document(from, place);
    std::vector<float> rows(static_cast<size_t>(document.length() * from.d));
    {
        const WithoutGil released;
        const DefaultFloatingPoint state;
        current_kernel().decode_residual(document.residual_view(), document.residual_span(0, document.length()),
                                         document.scale(), rows.data());
    }
    return to_numpy(std::move(rows), {static_cast<size_t>(document.length()), static_cast<size_t>(from.d)});
}

}  // namespace

void bind_residual(nb::module_& m) {
    m.def("rotate", &rotate_rows, "rows"_a.noconvert(), "back"_a = false);
    m.def("level_bytes", &bytes_of_levels, "dim"_a, "bits"_a);
    m.def("encode_residual", &encode, "codebook"_a, "segment"_a, "bits"_a, "threads"_a);
    m.def("decode_residual", &decode, "segment"_a, "place"_a);
}

}  // namespace maxsieve
