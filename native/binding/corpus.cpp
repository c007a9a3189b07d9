#include "binding/corpus.hpp"

#include <utility>

namespace nb = nanobind;
using namespace nb::literals;

namespace maxsieve {
namespace {

std::vector<Segment> views(int64_t d, const nb::tuple& segments) {
    std::vector<Segment> views;
    for (const nb::handle handle : segments) {
        views.push_back(nb::cast<const HeldSegment&>(handle).view());
        require(views.back().d == d, "every segment must have the corpus's dimension");
    }
    return views;
}

}  // namespace

HeldSegment::HeldSegment(AnyMatrix rows, Flat<const int64_t> offsets)
    : rows_(std::move(rows)), offsets_(std::move(offsets)) {
    const bool half = rows_.dtype() == nb::dtype<uint16_t>();
    require(half || rows_.dtype() == nb::dtype<float>(), "rows must be float32, or float16 seen as uint16");
    require(offsets_.shape(0) >= 1, "offsets need one entry more than there are documents");
    const auto documents = static_cast<int64_t>(offsets_.shape(0)) - 1;
    const int64_t* offset = offsets_.data();
    require(offset[0] == 0 && offset[documents] == static_cast<int64_t>(rows_.shape(0)),
            "offsets must run from 0 to the number of rows");
    for (int64_t i = 0; i < documents; ++i) require(offset[i] <= offset[i + 1], "offsets must not fall");
    view_.documents = documents, view_.d = static_cast<int64_t>(rows_.shape(1));
    view_.offsets = offset, view_.rows = rows_.data(), view_.half = half;
}

HeldSegment::HeldSegment(AnyMatrix rows, Flat<const int64_t> offsets, Matrix<const int8_t> codes,
                         Flat<const float> scale, Flat<const float> rho, Flat<const float> nu)
    : HeldSegment(std::move(rows), std::move(offsets)) {
    codes_ = std::move(codes), scale_ = std::move(scale), rho_ = std::move(rho), nu_ = std::move(nu);
    require(codes_.shape(0) == rows_.shape(0) && static_cast<int64_t>(codes_.shape(1)) == code_stride(view_.d),
            "codes must be [tokens, padded d]");
    require(static_cast<int64_t>(codes_.shape(1)) <= kMaxStride, "codes are for at most 4096 dimensions");
    for (const auto* bound : {&scale_, &rho_, &nu_}) {
        require(static_cast<int64_t>(bound->shape(0)) == view_.documents, "one scale, rho and nu for each document");
    }
    view_.codes = codes_.data(), view_.scale = scale_.data(), view_.rho = rho_.data(), view_.nu = nu_.data();
}

HeldCorpus::HeldCorpus(int64_t d, nb::tuple segments)
    : segments_(std::move(segments)), corpus_(d, views(d, segments_)) {}

void bind_corpus(nb::module_& m) {
    nb::class_<HeldSegment>(m, "Segment")
        .def(nb::init<AnyMatrix, Flat<const int64_t>>(), "rows"_a, "offsets"_a)
        .def(nb::init<AnyMatrix, Flat<const int64_t>, Matrix<const int8_t>, Flat<const float>, Flat<const float>,
                      Flat<const float>>(),
             "rows"_a, "offsets"_a, "codes"_a, "scale"_a, "rho"_a, "nu"_a);
    nb::class_<HeldCorpus>(m, "Corpus").def(nb::init<int64_t, nb::tuple>(), "dim"_a, "segments"_a);
    m.def("code_stride", &code_stride, "dim"_a);
}

}  // namespace maxsieve
