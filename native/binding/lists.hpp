// Lists that keep their arrays alive.
#pragma once

#include <cstdint>

#include "binding/arrays.hpp"
#include "binding/codebook.hpp"
#include "lists/lists.hpp"

namespace maxsieve {

class HeldListPart {
  public:
    HeldListPart(int64_t documents, int64_t block, int64_t centroids, Flat<const uint64_t> present,
                 Flat<const uint32_t> starts, Flat<const uint16_t> members);

    const ListPart& view() const { return view_; }

  private:
    Flat<const uint64_t> present_;
    Flat<const uint32_t> starts_;
    Flat<const uint16_t> members_;
    ListPart view_;
};

using ListPartTuple = Tuple<HeldListPart, nanobind::ellipsis>;

class HeldLists {
  public:
    // `firsts`: the position of each part's first document.
    HeldLists(CodebookObject codebook, ListPartTuple parts, const std::vector<int64_t>& firsts);

    const Lists& view() const { return view_; }

  private:
    CodebookObject codebook_;
    ListPartTuple parts_;
    Lists view_;
};

void bind_list_parts(nanobind::module_& m);

// After the types of segments.
void bind_making_lists(nanobind::module_& m);

}  // namespace maxsieve
