// The interface of policies. A new policy is a class in files of its own, and a line in binding/policies.cpp.
#pragma once

#include <cstddef>
#include <vector>

#include "search/answer.hpp"
#include "search/task.hpp"

namespace maxsieve {

class Policy {
  public:
    virtual ~Policy() = default;

    virtual const char* name() const = 0;

    // An answer for each query. If work was done for all queries together, the stages of each answer have their share
    // of the seconds.
    virtual std::vector<Answer> search(const Task& task) const = 0;

    // Bytes that a task keeps for each pair of query and candidate, from its first scan to its end.
    virtual size_t bytes_kept() const = 0;

    // Whether documents need codes.
    virtual bool needs_codes() const { return true; }

    // Whether tokens need centroids.
    virtual bool needs_codebook() const { return false; }

    // Whether there must be lists.
    virtual bool needs_lists() const { return false; }
};

}  // namespace maxsieve
