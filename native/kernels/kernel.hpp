// A kernel: a table of functions for one ISA, filled in by one translation unit. All other code is written once. All
// kernels give the same bits: integers are exact, and float chains run in the one canonical order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace maxsieve {

// Query tokens in a float panel. Panels are [d][16], so that a vector of 4, 8 or 16 lanes reads neighbouring tokens of
// one k.
constexpr int64_t kPanel = 16;

// Rows of codes are padded with zeros to a multiple of so many bytes. A zero code adds nothing to a dot product.
constexpr int64_t kCodeAlign = 32;

// The longest row of codes, for d = 4096. The overflow arguments of the kernels hold up to this length.
constexpr int64_t kMaxStride = 4096;

constexpr int64_t code_stride(int64_t d) {
    return (d + kCodeAlign - 1) / kCodeAlign * kCodeAlign;
}

// Numbers of a group, of which `group_largest` gives the largest.
constexpr int64_t kGroup = 16;

// Bytes of scratch memory that any kernel's `maxima` gets, for 16 rows of codes in whole vectors of 64 bytes and 8 KiB
// besides. It is the caller's: a thread's stack may be small.
constexpr size_t scratch_bytes(int64_t stride) {
    return static_cast<size_t>(16 * ((stride + 63) / 64 * 64) + 8192);
}

// Consecutive tokens of one document.
struct CodeSpan {
    const int8_t* codes;
    int64_t rows;
};

// The centroids of one document's tokens.
struct CentroidSpan {
    const uint16_t* ids;
    int64_t tokens;
};

// One document's scale, and the largest lane sum of squares of any row: of the residual (what the codes lose), and of
// the row itself.
struct DocumentSquares {
    float scale;
    double residual, norm;
};

// Bytes of the levels of a row with so many bits for each number; residual/form.hpp has the layout.
constexpr int64_t level_bytes(int64_t d, int64_t bits) {
    return bits == 4 ? (d + 1) / 2 : bits * ((d + 7) / 8);
}

// The steps of the two factors of a row, and how far entries of the table are shifted.
struct ResidualSteps {
    float length, scale;
    int shift;
};

// What rows of residual bits mean: their form, and the centroids. Ids are reduced by `mask`.
struct ResidualView {
    int64_t d, bits;
    ResidualSteps steps;
    const int8_t* centroid_codes;
    float centroid_scale;
    uint32_t mask;
};

// Consecutive tokens of one document as residual bits, and the table of their centroids for a scan.
struct ResidualSpan {
    const uint8_t* levels;
    const uint8_t* factors;  // [rows][2]: length, scale
    const uint16_t* centroids;
    int64_t rows;
    const int16_t* table = nullptr;  // strip after strip: [mask + 1][lanes]
    uint32_t mask = 0;               // reduces ids of centroids
};

// Query tokens in strips of 32 lanes, or of 16 for the last 16 or fewer.
constexpr int64_t kStrip = 32;

constexpr int64_t strip_lanes(int64_t tokens_left) {
    return tokens_left > kStrip / 2 ? kStrip : kStrip / 2;
}

// The lanes of all strips.
constexpr int64_t all_lanes(int64_t tokens) {
    const int64_t last = tokens % kStrip;
    return tokens - last + (last == 0 ? 0 : strip_lanes(last));
}

// A query token has so many tables of sums for signs: two for each byte of signs, and a multiple of four.
constexpr int64_t sign_tables(int64_t d) {
    return (d + 15) / 16 * 4;
}

// From the first token's first table to that of token t.
constexpr int64_t sign_table_at(int64_t t, int64_t d) {
    return t * sign_tables(d) * 16;
}

// What the tables of a query token mean: their step, the most that rounding to steps changes, and by what the sum over
// all tables is too large.
struct SignTables {
    float step;
    double error;
    int16_t unsigned_by;
};

// What a scan of residual bits reads of a query.
struct ResidualQuery {
    int64_t tokens, d, bits;
    int shift;
    // 1 or 2 bits, for all_lanes(tokens) tokens: tables [sign_tables(d)][16], and by what their sum is too large.
    const uint8_t* sums = nullptr;
    const int16_t* unsigned_by = nullptr;
    const int8_t* codes = nullptr;  // packed codes of all_lanes(tokens) tokens
};

// Bytes of scratch memory of `residual_maxima`. 4 bits: 16 rows of codes, their dot products and those of `dots`. 1 or
// 2 bits: at most 128 document tokens, whose levels take a half byte and (in copies) a quarter of a byte a number;
// their sums, three times; or tables of 32 tokens.
constexpr size_t residual_scratch_bytes(int64_t tokens, int64_t stride) {
    const size_t halves = static_cast<size_t>(16 * stride + 64 * all_lanes(tokens)) + scratch_bytes(stride);
    const auto bits = static_cast<size_t>(128 * stride + 128 * (16 + 3 * 2 * kStrip) + 4096);
    return halves > bits ? halves : bits;
}

struct Kernel {
    const char* name;

    // best[t] = max(best[t], canonical <q_t, e_j>) over `count` float32 rows e_j. `best` has room for whole panels. A
    // zero maximum is always +0.0.
    void (*cells)(const float* panels, int64_t tokens, int64_t d, const float* rows, int64_t count, float* best);

    // The layout of the codes [tokens][stride] of query tokens for `maxima` and `dots`, and its size.
    size_t (*packed_bytes)(int64_t tokens, int64_t stride);
    void (*pack)(const int8_t* codes, int64_t tokens, int64_t stride, int8_t* packed);

    // best[s * tokens + t] = max(best[s * tokens + t], <y_t, c_j>) over the rows c_j of each span s. `scratch` has
    // scratch_bytes(stride), and starts at a cache line.
    void (*maxima)(const int8_t* packed, int64_t tokens, int64_t stride, const CodeSpan* spans, int64_t count,
                   int32_t* best, int8_t* scratch);

    // out[j * tokens + t] = <y_t, c_j> for `count` rows c_j. `tokens` is a multiple of kPanel. `scratch` as above.
    void (*dots)(const int8_t* packed, int64_t tokens, int64_t stride, const int8_t* rows, int64_t count, int32_t* out,
                 int8_t* scratch);

    // out[j] = <y, c_j> for `count` rows c_j of codes, and the codes y of one query token as int16.
    void (*row_dots)(const int16_t* query, int64_t stride, const int8_t* rows, int64_t count, int32_t* out);

    // sums[i] += cells[i] in the upper two bytes, and cells[i] = 0.
    void (*add_cells)(uint16_t* cells, int64_t count, uint32_t* sums);

    // largest[g] = the largest of the numbers in group g; groups have kGroup numbers, the last may have fewer.
    void (*group_largest)(const uint32_t* numbers, int64_t count, uint32_t* largest);

    // Of the first `real` numbers of each row, rows being `apart` numbers apart, the largest and its first place.
    void (*first_largest)(const int32_t* rows, int64_t apart, int64_t real, int64_t count, int32_t* largest,
                          int32_t* place);

    // A table of bytes [rows][width] from rows of dot products: (dot * length[row]) * factor[column] + 0.5, each
    // operation rounded to float32, clamped to [0, 255] and truncated to an integer.
    void (*to_bytes)(const int32_t* dots, int64_t apart, const float* length, const float* factor, int64_t width,
                     int64_t rows, uint8_t* table);

    // sums[s] += the sum over columns of the largest byte in the table rows that the ids of span s name. The table has
    // `rows` rows, a power of two, of `width` bytes, 32 or 64.
    void (*lookup)(const uint8_t* table, int64_t width, int64_t rows, const CentroidSpan* spans, int64_t count,
                   int32_t* sums);

    // sums[i] = sum over t of weights[t] * maxima[i * apart + t], in lane order, each product rounded to float64.
    void (*weighted_sums)(const double* weights, int64_t tokens, const int32_t* maxima, int64_t apart, int64_t count,
                          double* sums);

    // Codes [count][stride] of one document's rows [count][d]. Returns false if a value is not finite or is over 2^50.
    bool (*quantise)(const float* rows, int64_t count, int64_t d, int64_t stride, int8_t* codes,
                     DocumentSquares* squares);

    // Whether all numbers are finite and none is over 2^50 in magnitude.
    bool (*all_valid)(const float* numbers, int64_t count);

    // float16 bits to float32, exact.
    void (*widen)(const uint16_t* halves, int64_t count, float* floats);

    // Float32 rows [count][d]: codes [count][stride] times their scale. This is exact, because a scale has 17 bits.
    void (*scale_codes)(const int8_t* codes, float scale, int64_t count, int64_t d, int64_t stride, float* rows);

    // best[s * tokens + t] = max(best[s * tokens + t], v_j 2^shift table[c_j][t] + u_j R_jt) over the rows of each
    // span s, where R_jt are the sums of the query's codes for the levels, <y_t, l_j> with 4 bits. `scratch` has
    // residual_scratch_bytes, and starts at a cache line.
    void (*residual_maxima)(const ResidualQuery& query, const ResidualSpan* spans, int64_t count, int32_t* best,
                            int8_t* scratch);

    // A table of `lanes` entries in each row: dots, whose rows are `apart` numbers apart, times the factor of the lane,
    // in float32, rounded to integers.
    void (*to_entries)(const int32_t* dots, int64_t apart, const float* factors, int64_t lanes, int64_t rows,
                       int16_t* table);

    // The tables [sign_tables(d)][16] of a query token with these codes.
    SignTables (*sign_tables)(const int8_t* codes, int64_t d, uint8_t* tables);

    // The stored rows [rows][d] of a span, of a document with this scale.
    void (*decode_residual)(const ResidualView& view, const ResidualSpan& span, float scale, float* rows);
};

extern const Kernel kScalar;
#if defined(__x86_64__)
extern const Kernel kAmx;
extern const Kernel kAvx512vbmi;  // has the name "avx512vnni", too: its results are the same
extern const Kernel kAvx512vnni;
extern const Kernel kAvxVnni;  // has the name "avx2", too: its results are the same
extern const Kernel kAvx2;
#elif defined(__aarch64__)
extern const Kernel kNeon;
extern const Kernel kNeonDotprod;
#endif

}  // namespace maxsieve
