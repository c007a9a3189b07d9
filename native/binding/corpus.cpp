#include "binding/corpus.hpp"

#include <nanobind/stl/optional.h>

#include <utility>

#include "binding/candidates.hpp"
#include "residual/form.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace maxsieve {
namespace {

std::vector<Segment> views(int64_t d, const nb::tuple& segments) {
    std::vector<Segment> views;
    for (const nb::handle handle : segments) {
        views.push_back(nb::cast<const HeldSegment&>(handle).view());
        require(views.back().d == d, "every segment must have the corpus's dimension");
        require((views.back().sequence != nullptr) == (views.front().sequence != nullptr),
                "all segments have sequence numbers, or none has");
        require(views.back().bits == views.front().bits, "all segments have residual bits, as many for each number");
    }
    return views;
}

const Codebook* view(int64_t d, const std::vector<Segment>& segments, const std::optional<CodebookObject>& codebook) {
    if (!codebook) return nullptr;
    const Codebook& book = nb::cast<const HeldCodebook&>(*codebook).view();
    require(book.d == d, "the codebook must have the corpus's dimension");
    require(book.centroids <= Codebook::kMostOfTier0, "two bytes name at most 65,536 centroids");
    for (const Segment& segment : segments) {
        require(segment.centroids != nullptr, "with a codebook every segment must have centroids");
    }
    return &book;
}

Lists view(int64_t d, const std::optional<ListsObject>& lists) {
    if (!lists) return {nullptr, {}};
    const Lists& view = nb::cast<const HeldLists&>(*lists).view();
    require(view.codebook->d == d, "the codebook of the lists must have the corpus's dimension");
    return view;
}

}  // namespace

HeldSegment::HeldSegment(int64_t d, Flat<const int64_t> offsets, std::optional<ReadRows> rows,
                         std::optional<Matrix<const int8_t>> codes, std::optional<Flat<const float>> scale,
                         std::optional<Flat<const float>> rho, std::optional<Flat<const float>> nu,
                         std::optional<Flat<const uint16_t>> centroids, std::optional<Flat<const int64_t>> sequence,
                         std::optional<Matrix<const uint8_t>> levels, std::optional<Matrix<const uint8_t>> factors,
                         int64_t bits, std::optional<CodebookObject> codebook)
    : offsets_(std::move(offsets)),
      rows_(std::move(rows)),
      codes_(std::move(codes)),
      scale_(std::move(scale)),
      rho_(std::move(rho)),
      nu_(std::move(nu)),
      centroids_(std::move(centroids)),
      sequence_(std::move(sequence)),
      levels_(std::move(levels)),
      factors_(std::move(factors)),
      codebook_(std::move(codebook)) {
    require(d >= 1 && code_stride(d) <= kMaxStride, "a vector has 1 to 4096 dimensions");
    require(offsets_.shape(0) >= 1, "offsets need one entry more than there are documents");
    const auto documents = static_cast<int64_t>(offsets_.shape(0)) - 1;
    const int64_t* offset = offsets_.data();
    require(offset[0] == 0, "offsets must begin with 0");
    for (int64_t i = 0; i < documents; ++i) require(offset[i] <= offset[i + 1], "offsets must not fall");
    const int64_t tokens = offset[documents];
    const auto fits = [&](const auto& matrix, int64_t columns) {
        return static_cast<int64_t>(matrix.shape(0)) == tokens && static_cast<int64_t>(matrix.shape(1)) == columns;
    };
    view_.documents = documents, view_.d = d, view_.offsets = offset, view_.stored = Stored::int8;
    require(rows_ || codes_ || levels_, "a segment needs rows, codes or residual bits");
    if (rows_) {
        const bool half = rows_->matrix.dtype() == nb::dtype<uint16_t>();
        require(half || rows_->matrix.dtype() == nb::dtype<float>(), "rows must be float32, or float16 seen as uint16");
        require(fits(rows_->matrix, d), "offsets must run from 0 to the number of rows");
        view_.stored = half ? Stored::float16 : Stored::float32, view_.rows = rows_->matrix.data();
    }
    if (codes_) {
        require(fits(*codes_, code_stride(d)), "codes must be [tokens, padded d]");
        for (const auto* bound : {&scale_, &rho_, &nu_}) {
            require(*bound && static_cast<int64_t>((*bound)->shape(0)) == documents,
                    "one scale, rho and nu for each document");
        }
        view_.codes = codes_->data();
        view_.scale = scale_->data(), view_.rho = rho_->data(), view_.nu = nu_->data();
    }
    if (centroids_) {
        require(static_cast<int64_t>(centroids_->shape(0)) == tokens, "one centroid for each token");
        view_.centroids = centroids_->data();
    }
    if (levels_) {
        require(!rows_ && !codes_, "residual bits take the place of rows and codes");
        require(is_bits(bits) && d <= most_dim(bits), "residuals have 1, 2 or 4 bits; with 4, at most 2048 numbers");
        require(fits(*levels_, level_bytes(d, bits)) && factors_ && fits(*factors_, 2),
                "levels must be [tokens, bytes] and factors [tokens, 2]");
        for (const auto* bound : {&scale_, &nu_}) {
            require(*bound && static_cast<int64_t>((*bound)->shape(0)) == documents,
                    "one scale and nu for each document");
        }
        require(centroids_ && codebook_, "residual bits need centroids, and the codebook that names them");
        const auto& held = nb::cast<const HeldCodebook&>(*codebook_);
        require(held.view().d == d && held.serves_residuals(),
                "the codebook of residual bits has the segment's dimension, at most 65,536 centroids, and none longer "
                "than 2");
        view_.stored = Stored::residual, view_.bits = bits, view_.steps = residual_steps(d, bits);
        view_.levels = levels_->data(), view_.factors = factors_->data(), view_.book = &held.view();
        view_.scale = scale_->data(), view_.rho = scale_->data(), view_.nu = nu_->data();
    }
    if (sequence_) {
        require(static_cast<int64_t>(sequence_->shape(0)) == documents, "one sequence number for each document");
        for (int64_t i = 0; i < documents; ++i) {
            // An exchange sends them as doubles, which are exact up to 2^53.
            require(sequence_->data()[i] >= 0 && sequence_->data()[i] <= (int64_t{1} << 53),
                    "sequence numbers lie between 0 and 2^53");
        }
        view_.sequence = sequence_->data();
    }
}

HeldCorpus::HeldCorpus(int64_t d, SegmentTuple segments, std::optional<CodebookObject> codebook,
                       std::optional<ListsObject> lists)
    : segments_(std::move(segments)),
      codebook_(std::move(codebook)),
      lists_(std::move(lists)),
      corpus_(d, views(d, segments_), view(d, views(d, segments_), codebook_), view(d, lists_)) {
    const auto& parts = corpus_.lists().parts;
    require(parts.empty() || parts.back().first + parts.back().lists->documents() <= corpus_.documents(),
            "there are lists of more documents");
}

void bind_corpus(nb::module_& m) {
    nb::class_<HeldSegment>(m, "Segment")
        .def(nb::init<int64_t, Flat<const int64_t>, std::optional<ReadRows>, std::optional<Matrix<const int8_t>>,
                      std::optional<Flat<const float>>, std::optional<Flat<const float>>,
                      std::optional<Flat<const float>>, std::optional<Flat<const uint16_t>>,
                      std::optional<Flat<const int64_t>>, std::optional<Matrix<const uint8_t>>,
                      std::optional<Matrix<const uint8_t>>, int64_t, std::optional<CodebookObject>>(),
             "dim"_a, "offsets"_a, "rows"_a = nb::none(), "codes"_a = nb::none(), "scale"_a = nb::none(),
             "rho"_a = nb::none(), "nu"_a = nb::none(), "centroids"_a = nb::none(), "sequence"_a = nb::none(),
             "levels"_a = nb::none(), "factors"_a = nb::none(), "bits"_a = 0, "codebook"_a = nb::none());
    nb::class_<HeldCorpus>(m, "Corpus")
        .def(nb::init<int64_t, SegmentTuple, std::optional<CodebookObject>, std::optional<ListsObject>>(), "dim"_a,
             "segments"_a, "codebook"_a = nb::none(), "lists"_a = nb::none());
    nb::class_<Candidates>(m, "Candidates")
        .def(nb::init<Flat<const int64_t>>(), "positions"_a)
        .def("__len__", [](const Candidates& candidates) { return candidates.positions().size(); });
    m.def("code_stride", &code_stride, "dim"_a);
}

}  // namespace maxsieve
