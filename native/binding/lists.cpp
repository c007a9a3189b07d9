#include "binding/lists.hpp"

#include <nanobind/stl/vector.h>

#include "binding/corpus.hpp"
#include "binding/interruptible.hpp"
#include "codebook/assign.hpp"
#include "kernels/table.hpp"
#include "lists/make.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace maxsieve {
namespace {

ListPart::Arrays arrays_of(int64_t documents, int64_t block, int64_t centroids, const Flat<const uint64_t>& present,
                           const Flat<const uint32_t>& starts, const Flat<const uint16_t>& members) {
    // Else the part can't be made: its constructor reads all of these.
    require(centroids >= 1 && centroids <= Codebook::kMostCentroids &&
                static_cast<int64_t>(present.shape(0)) == (centroids + 63) / 64,
            "a bit for each centroid, in words of 64");
    require(starts.shape(0) >= 1, "lists need a start");
    return {documents,      block,
            centroids,      present.data(),
            starts.data(),  static_cast<int64_t>(starts.shape(0)),
            members.data(), static_cast<int64_t>(members.shape(0))};
}

// Which centroids have lists, where these begin, and their members.
using MadeArrays = Tuple<Array<uint64_t>, Array<uint32_t>, Array<uint16_t>>;
MadeArrays to_arrays(MadeLists made) {
    const size_t words = made.present.size(), starts = made.starts.size(), postings = made.members.size();
    return nb::make_tuple(to_numpy(std::move(made.present), {words}), to_numpy(std::move(made.starts), {starts}),
                          to_numpy(std::move(made.members), {postings}));
}

MadeArrays make_arrays(const HeldCodebook& held, const SegmentTuple& segments, int64_t block, int64_t probes,
                       int threads) {
    const Codebook& book = held.view();
    require(block >= 1 && block <= ListPart::kMostOfBlock, "a block has 1 to 65,536 documents");
    require(probes >= 1 && probes <= kProbes, "probes must be 1 to 8");
    require(threads >= 1, "threads must be at least 1");
    std::vector<Segment> views;
    for (const nb::handle handle : segments) {
        views.push_back(nb::cast<const HeldSegment&>(handle).view());
        require(views.back().d == book.d, "every segment must have the codebook's dimension");
        require(views.back().codes != nullptr || views.back().book == &book,
                "lists are made of codes, or of residuals of the same codebook");
    }
    return to_arrays(interruptible([&](Interrupt& interrupt) {
        Crew crew(threads, interrupt);
        return make_lists(book, views, block, probes, current_kernel(), crew);
    }));
}

MadeArrays merge_arrays(const ListPartTuple& parts) {
    std::vector<const ListPart*> views;
    int64_t documents = 0;
    for (const nb::handle handle : parts) {
        views.push_back(&nb::cast<const HeldListPart&>(handle).view());
        require(
            views.back()->centroids() == views.front()->centroids() && views.back()->block() == views.front()->block(),
            "lists that are merged must have the same centroids and blocks");
        require(views.back()->documents() <= INT64_MAX - documents, "these are too many documents");
        documents += views.back()->documents();
    }
    require(!views.empty(), "there must be lists to merge");
    return to_arrays(interruptible([&](Interrupt& interrupt) { return merge_lists(views, interrupt); }));
}

}  // namespace

HeldListPart::HeldListPart(int64_t documents, int64_t block, int64_t centroids, Flat<const uint64_t> present,
                           Flat<const uint32_t> starts, Flat<const uint16_t> members)
    : present_(std::move(present)),
      starts_(std::move(starts)),
      members_(std::move(members)),
      view_(arrays_of(documents, block, centroids, present_, starts_, members_)) {}

HeldLists::HeldLists(CodebookObject codebook, ListPartTuple parts, const std::vector<int64_t>& firsts)
    : codebook_(std::move(codebook)),
      parts_(std::move(parts)),
      view_{&nb::cast<const HeldCodebook&>(codebook_).view(), {}} {
    require(firsts.size() == nb::len(parts_), "each part has a first document");
    int64_t end = 0;
    for (const nb::handle handle : parts_) {
        const ListPart& part = nb::cast<const HeldListPart&>(handle).view();
        const int64_t first = firsts[view_.parts.size()];
        require(part.centroids() == view_.codebook->centroids, "lists must be of the codebook's centroids");
        require(first >= end && first <= INT64_MAX - part.documents(), "parts must ascend, none over another");
        end = first + part.documents();
        view_.parts.push_back({&part, first});
    }
}

void bind_list_parts(nb::module_& m) {
    nb::class_<HeldListPart>(m, "ListPart")
        .def(nb::init<int64_t, int64_t, int64_t, Flat<const uint64_t>, Flat<const uint32_t>, Flat<const uint16_t>>(),
             "documents"_a, "block"_a, "centroids"_a, "present"_a, "starts"_a, "members"_a)
        .def("has_sane_members", [](const HeldListPart& part) { return part.view().has_sane_members(); });
    nb::class_<HeldLists>(m, "Lists")
        .def(nb::init<CodebookObject, ListPartTuple, std::vector<int64_t>>(), "codebook"_a, "parts"_a, "firsts"_a);
}

void bind_making_lists(nb::module_& m) {
    m.def("make_lists", &make_arrays, "codebook"_a, "segments"_a, "block"_a, "probes"_a, "threads"_a);
    m.def("merge_lists", &merge_arrays, "parts"_a);
}

}  // namespace maxsieve
