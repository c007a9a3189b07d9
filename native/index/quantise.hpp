// Codes and bounds of many documents.
#pragma once

#include <cstdint>

#include "threads/crew.hpp"

namespace maxsieve {

// What `quantise` writes: arrays of the caller's.
struct QuantisedDocuments {
    int8_t* codes;  // [tokens][code_stride(d)]
    float *scale, *rho, *nu;
};

// Document i has the rows offsets[i]..offsets[i + 1] - 1. Returns the first document with a value that is not finite or
// is over 2^50, or -1 if there is none.
int64_t quantise(const float* rows, const int64_t* offsets, int64_t documents, int64_t d, const QuantisedDocuments& out,
                 Crew& crew);

}  // namespace maxsieve
