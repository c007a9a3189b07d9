// Turns a caller's rows into a segment. One thread reads, checks, normalises, rounds and quantises a document while it
// is in that thread's cache. So the input is read once, and the segment is written once.
#pragma once

#include <cstdint>

#include "index/corpus.hpp"
#include "index/input_rows.hpp"
#include "residual/rotation.hpp"
#include "threads/interrupt.hpp"

namespace maxsieve {

// The arrays that `ingest` writes, which the caller owns. Documents lie end to end.
struct NewSegment {
    int64_t documents, d;
    const int64_t* offsets;  // documents + 1 of them, from 0 to the number of input rows
    Stored stored;
    void* rows;     // [tokens][d], float32 or float16; null for int8
    int8_t* codes;  // [tokens][code_stride(d)]
    float *scale, *rho, *nu;
};

// Fills in the segment; with `cosine`, rows are normalised first; then they are rotated, unless `rotation` is null.
// Returns the first document with a value that is not finite or is over 2^50 (as given, rotated or, for float16, as
// stored), or -1 if there is none.
int64_t ingest(const InputRows& input, bool cosine, const Rotation* rotation, const NewSegment& out, int threads,
               Interrupt& interrupt);

}  // namespace maxsieve
