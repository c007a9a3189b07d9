// From a caller's rows to a segment. Each document is read, checked, normalised, rounded and quantised by one thread
// while it is in that thread's cache: the caller's memory is read once and the segment's written once.
#pragma once

#include <cstdint>

#include "index/corpus.hpp"
#include "index/input_rows.hpp"
#include "threads/interrupt.hpp"

namespace maxsieve {

// What `ingest` writes: arrays of the caller's, for documents end to end.
struct NewSegment {
    int64_t documents, d;
    const int64_t* offsets;  // documents + 1 of them, from 0 to the rows of the input
    Stored stored;
    void* rows;     // [tokens][d], float32 or float16; null for int8
    int8_t* codes;  // [tokens][code_stride(d)]
    float *scale, *rho, *nu;
};

// Fills in the segment; with `cosine`, of normalised rows. Returns the first document with a value that is not finite
// or is over 2^50, as given or, for float16, as stored; -1 if there is none.
int64_t ingest(const InputRows& input, bool cosine, const NewSegment& out, int threads, Interrupt& interrupt);

}  // namespace maxsieve
