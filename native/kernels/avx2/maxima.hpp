// Integer maxima with vectors of 32 bytes, written once for both ways to multiply bytes. `Product` is such a way: how
// it packs query codes (packing.hpp), how it adds their products with a piece of a document token to int32 sums, and
// how many document tokens its blocks have: kRows for one group, kRowsOfTwo for two.
//
// Lanes are query tokens. A block is Rows document tokens against Vectors groups of Width query tokens. Its sums stay
// in registers for all k. Below width 8 a dot product is spread over 8 / Width lanes. Then the sums of 8 / Width rows
// are folded into one vector of whole dot products, which costs two or three shuffles a row. Single lanes are read only
// at the end of a document.
#pragma once

#include <immintrin.h>

#include "compiler.hpp"
#include "kernels/avx2/packing.hpp"
#include "kernels/generic/prefetch.hpp"

namespace maxsieve {
namespace {

// Longer rows use blocks of kLongRows: on Zen 3 that costs 4 % in cache and gains 10 to 20 % from DRAM.
constexpr int64_t kLongRow = 2 * kLineBytes;
// All groups of a long query pass over so many bytes of rows before the next rows come: the rows stay in L2.
constexpr int64_t kChunkBytes = 64 * 1024;

inline __m256i load(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

// Repeats a piece of a document token Width times.
template <int Width>
inline __m256i repeat(const int8_t* piece) {
    if constexpr (Width == 8) {
        int32_t codes;
        std::memcpy(&codes, piece, sizeof codes);
        return _mm256_set1_epi32(codes);
    } else if constexpr (Width == 4) {
        int64_t codes;
        std::memcpy(&codes, piece, sizeof codes);
        return _mm256_set1_epi64x(codes);
    } else if constexpr (Width == 2) {
        return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(piece)));
    } else {
        return load(piece);
    }
}

// Sums of neighbouring lanes. Each half of the register has first those of a, then those of b.
inline __m256i add_neighbours(__m256i a, __m256i b) {
    const __m256 x = _mm256_castsi256_ps(a), y = _mm256_castsi256_ps(b);
    return _mm256_add_epi32(_mm256_castps_si256(_mm256_shuffle_ps(x, y, 0x88)),
                            _mm256_castps_si256(_mm256_shuffle_ps(x, y, 0xDD)));
}

// The whole dot products of rows r, ..., r + 8 / Width - 1. After the last row the first one is repeated, which changes
// no maximum.
template <int Width, int Rows>
inline __m256i whole_dots(const __m256i (&sums)[Rows], int r) {
    if constexpr (Width == 8) {
        return sums[r % Rows];
    } else if constexpr (Width == 4) {
        return add_neighbours(sums[r % Rows], sums[(r + 1) % Rows]);
    } else if constexpr (Width == 2) {
        return add_neighbours(whole_dots<4>(sums, r), whole_dots<4>(sums, r + 2));
    } else {
        const __m256i a = whole_dots<2>(sums, r), b = whole_dots<2>(sums, r + 4);
        return _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
    }
}

// A token has 8 / Width lanes in a vector of whole dot products. Returns the copy-th lane of token t.
template <int Width>
constexpr int64_t lane_of(int64_t t, int64_t copy) {
    constexpr int64_t kTokensOfHalf = Width == 1 ? 1 : Width / 2;
    return t / kTokensOfHalf * 4 + t % kTokensOfHalf + copy * kTokensOfHalf;
}

// The sums of Rows document tokens against Vectors groups of Width query tokens. With Fetch, it prefetches as many
// bytes at `ahead` as it works on, spread evenly: one burst cost up to a tenth of the time.
template <class Product, int Width, bool Fetch, int Vectors, int Rows>
[[gnu::always_inline]] inline void multiply_block(const int8_t* packed, int64_t stride, int64_t used,
                                                  const int8_t* rows, const int8_t* ahead,
                                                  __m256i (&sums)[Vectors][Rows]) {
    constexpr int64_t kPiece = kVector / Width;
    const int64_t apart = group_bytes<Product>(Width, stride);
    for (int v = 0; v < Vectors; ++v) {
        for (int r = 0; r < Rows; ++r) sums[v][r] = load(packed + v * apart);
    }
    const int8_t* vector = packed + kVector;
    for (int64_t k = 0; k < used; k += kPiece, vector += Product::kPlanes * kVector) {
        typename Product::Query query[Vectors];
        for (int v = 0; v < Vectors; ++v) query[v] = Product::query(vector + v * apart);
        if constexpr (Fetch) {
            for (int64_t i = 0; i < Rows * kPiece; i += kLineBytes) MAXSIEVE_PREFETCH(ahead + Rows * k + i);
        }
        for (int r = 0; r < Rows; ++r) {
            const __m256i token = Product::token(repeat<Width>(rows + r * stride + k));
            for (int v = 0; v < Vectors; ++v) sums[v][r] = Product::add(sums[v][r], query[v], token);
        }
    }
    if constexpr (Fetch) {
        for (int64_t i = Rows * used; i < Rows * stride; i += kLineBytes) MAXSIEVE_PREFETCH(ahead + i);
    }
}

// Vectors groups of Width query tokens, and their largest dot products so far.
template <class Product, int Width, int Vectors>
class Groups {
  public:
    Groups(const int8_t* packed, int64_t stride, int64_t used) : packed_(packed), stride_(stride), used_(used) {
        for (int v = 0; v < Vectors; ++v) largest_[v] = _mm256_set1_epi32(INT32_MIN);
    }

    void multiply(const CodeSpan& span, Prefetcher& prefetcher) {
        if constexpr (Vectors == 2) {
            multiply_blocks<Product::kRowsOfTwo>(span.codes, span.rows, prefetcher);
        } else if (stride_ <= kLongRow) {
            multiply_blocks<Product::kRows>(span.codes, span.rows, prefetcher);
        } else {
            multiply_blocks<Product::kLongRows>(span.codes, span.rows, prefetcher);
        }
    }

    // best[t] = max(best[t], the largest) for the first `tokens` tokens of the groups. The others are padding.
    void update_best(int64_t tokens, int32_t* best) const {
        for (int v = 0; v < Vectors; ++v) {
            alignas(kVector) int32_t lanes[8];
            _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), largest_[v]);
            for (int64_t t = 0; t < Width && v * Width + t < tokens; ++t) {
                int32_t& largest = best[v * Width + t];
                for (int64_t copy = 0; copy < 8 / Width; ++copy) {
                    const int32_t dot = lanes[lane_of<Width>(t, copy)];
                    largest = dot > largest ? dot : largest;
                }
            }
        }
    }

  private:
    template <int Rows>
    void multiply_blocks(const int8_t* rows, int64_t count, Prefetcher& prefetcher) {
        for (; count >= Rows; count -= Rows, rows += Rows * stride_) {
            update_largest<Rows>(rows, prefetcher.take(Rows * stride_, rows));
        }
        if constexpr (Rows > 1) multiply_blocks<(Rows > 4 ? 4 : Rows > 2 ? 2 : 1)>(rows, count, prefetcher);
    }

    template <int Rows>
    void update_largest(const int8_t* rows, const int8_t* ahead) {
        __m256i sums[Vectors][Rows];
        multiply_block<Product, Width, true>(packed_, stride_, used_, rows, ahead, sums);
        for (int v = 0; v < Vectors; ++v) {
            for (int r = 0; r < Rows; r += 8 / Width) {
                largest_[v] = _mm256_max_epi32(largest_[v], whole_dots<Width>(sums[v], r));
            }
        }
    }

    const int8_t* packed_;
    int64_t stride_, used_;
    __m256i largest_[Vectors];
};

template <class Product, int Width, int Vectors>
void groups_maxima(const int8_t* packed, int64_t tokens, int64_t stride, int64_t used, const CodeSpan& chunk,
                   Prefetcher& prefetcher, int32_t* best) {
    Groups<Product, Width, Vectors> groups(packed, stride, used);
    groups.multiply(chunk, prefetcher);
    groups.update_best(tokens, best);
}

template <class Product>
void chunk_maxima(const int8_t* packed, int64_t tokens, int64_t stride, const CodeSpan& chunk, Prefetcher& prefetcher,
                  int32_t* best) {
    prefetcher.begin(chunk.rows * stride);
    const int64_t used = codes_used(packed);
    packed += kVector;
    while (tokens > 0) {
        const int64_t width = next_width(tokens), vectors = tokens > 8 && next_width(tokens - 8) == 8 ? 2 : 1;
        const int64_t taken = tokens < width * vectors ? tokens : width * vectors;
        switch (width * vectors) {
            case 16:
                groups_maxima<Product, 8, 2>(packed, taken, stride, used, chunk, prefetcher, best);
                break;
            case 8:
                groups_maxima<Product, 8, 1>(packed, taken, stride, used, chunk, prefetcher, best);
                break;
            case 4:
                groups_maxima<Product, 4, 1>(packed, taken, stride, used, chunk, prefetcher, best);
                break;
            case 2:
                groups_maxima<Product, 2, 1>(packed, taken, stride, used, chunk, prefetcher, best);
                break;
            default:
                groups_maxima<Product, 1, 1>(packed, taken, stride, used, chunk, prefetcher, best);
                break;
        }
        packed += vectors * group_bytes<Product>(width, stride);
        tokens -= taken;
        best += taken;
    }
}

template <class Product>
void maxima(const int8_t* packed, int64_t tokens, int64_t stride, const CodeSpan* spans, int64_t count, int32_t* best,
            int8_t*) {
    const int64_t chunk = kChunkBytes / stride / 8 * 8;  // 16 rows if rows are longest, with d = 4096
    const int64_t block = Product::kLongRows * stride;
    Prefetcher prefetcher(spans, count, stride, block > kLead ? block : kLead);
    for (const CodeSpan* span = spans; span != spans + count; ++span, best += tokens) {
        for (int64_t j = 0; j < span->rows; j += chunk) {
            const int64_t rows = span->rows - j < chunk ? span->rows - j : chunk;
            chunk_maxima<Product>(packed, tokens, stride, {span->codes + j * stride, rows}, prefetcher, best);
        }
    }
}

}  // namespace
}  // namespace maxsieve
