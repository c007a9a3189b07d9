// What an ISA provides: one table of functions, filled in by one translation unit. Everything above it is written once.
// All tables give the same bits: integers are exact, float chains run in the one canonical order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace maxsieve {

// Query tokens of a float panel; panels are [d][16], so that a vector of 4, 8 or 16 lanes reads consecutive tokens of
// one k.
constexpr int64_t kPanel = 16;

// Rows of codes are padded with zeros to a multiple of this many bytes: a zero code adds nothing to a dot product.
constexpr int64_t kCodeAlign = 32;

// The longest row of codes, for d = 4096: the kernels' overflow arguments hold up to it.
constexpr int64_t kMaxStride = 4096;

constexpr int64_t code_stride(int64_t d) {
    return (d + kCodeAlign - 1) / kCodeAlign * kCodeAlign;
}

// Bytes of scratch memory that any kernel's `maxima` gets, for 16 rows of codes in whole vectors of 64 bytes and 8 KiB
// besides. It is the caller's: a thread's stack may be small.
constexpr size_t scratch_bytes(int64_t stride) {
    return static_cast<size_t>(16 * ((stride + 63) / 64 * 64) + 8192);
}

// Some consecutive tokens of one document.
struct CodeSpan {
    const int8_t* codes;
    int64_t rows;
};

// One document's scale and the largest lane sum of squares of any row: of what its codes lost, and of its numbers.
struct DocumentSquares {
    float scale;
    double residual, norm;
};

struct Kernel {
    const char* name;

    // best[t] = max(best[t], canonical <q_t, e_j>) over `count` float32 rows e_j; best has room for whole panels. A
    // largest that is zero is +0.0, whichever zeros it was the largest of.
    void (*cells)(const float* panels, int64_t tokens, int64_t d, const float* rows, int64_t count, float* best);

    // The layout in which `maxima` wants the codes [tokens][stride] of some query tokens, and its size.
    size_t (*packed_bytes)(int64_t tokens, int64_t stride);
    void (*pack)(const int8_t* codes, int64_t tokens, int64_t stride, int8_t* packed);

    // best[s * tokens + t] = max(best[s * tokens + t], <y_t, c_j>) over the rows c_j of each span s. `scratch` begins
    // at a cache line and has scratch_bytes(stride).
    void (*maxima)(const int8_t* packed, int64_t tokens, int64_t stride, const CodeSpan* spans, int64_t count,
                   int32_t* best, int8_t* scratch);

    // sums[i] = sum over t of weights[t] * maxima[i * apart + t], in lane order, each product rounded to float64.
    void (*weighted_sums)(const double* weights, int64_t tokens, const int32_t* maxima, int64_t apart, int64_t count,
                          double* sums);

    // Codes [count][stride] of one document's rows [count][d]; false if a value is not finite or is over 2^50.
    bool (*quantise)(const float* rows, int64_t count, int64_t d, int64_t stride, int8_t* codes,
                     DocumentSquares* squares);

    // float16 bits to float32, exact.
    void (*widen)(const uint16_t* halves, int64_t count, float* floats);
};

extern const Kernel kScalar;
#if defined(__x86_64__)
extern const Kernel kAmx;
extern const Kernel kAvx512vnni;
extern const Kernel kAvxVnni;  // named "avx2" like the next: what it gives is the same
extern const Kernel kAvx2;
#elif defined(__aarch64__)
extern const Kernel kNeon;
extern const Kernel kNeonDotprod;
#endif

}  // namespace maxsieve
