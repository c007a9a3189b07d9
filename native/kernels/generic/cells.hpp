// Canonical cells, written once for all ISAs. Lanes are query tokens. e_j[k] is broadcast and multiplied into the
// accumulators of a few vectors of query tokens. So every <q_t, e_j> is its own chain of fused multiply-adds over k =
// 0..d-1, for any number of lanes. `Vector` comes from the ISA: kLanes, zero, load, store, broadcast, fma, max, and
// kAccumulators if it has 32 registers.
//
// Registers: Rows x Vectors accumulators. An fma waits for the one before on the same accumulator (4-5 cycles, two
// start per cycle), so at least ten chains are needed at once. We use twelve, which leaves four of sixteen registers,
// or 24 of 32, which saves loads. The other registers hold the shorter side of the block (rows or query vectors)
// completely, and the other side one at a time. Anything else would spill.
#pragma once

#include "compiler.hpp"
#include "kernels/generic/row_blocks.hpp"
#include "kernels/kernel.hpp"

namespace maxsieve {
namespace {

constexpr int64_t kLine = 16;  // floats in a cache line

// Every loop except the one over k must be unrolled. Otherwise GCC clears the chains as an array in memory, and then
// keeps them there.
template <class Vector, int Vectors, int Rows>
void cells_block(const float* const (&panel)[Vectors], int64_t d, const float* rows, float* const (&best)[Vectors]) {
    typename Vector::Register chain[Rows][Vectors];
    MAXSIEVE_UNROLL
    for (int r = 0; r < Rows; ++r) {
        MAXSIEVE_UNROLL
        for (int v = 0; v < Vectors; ++v) chain[r][v] = Vector::zero();
    }
    for (int64_t k = 0; k < d; ++k) {
        // Prefetch the rows of the next block. Rows are too short for the hardware to detect the stream.
        if (k % kLine == 0) {
            MAXSIEVE_UNROLL
            for (int r = 0; r < Rows; ++r) MAXSIEVE_PREFETCH(rows + (Rows + r) * d + k);
        }
        if constexpr (Rows < Vectors) {
            typename Vector::Register token[Rows];
            MAXSIEVE_UNROLL
            for (int r = 0; r < Rows; ++r) token[r] = Vector::broadcast(rows + r * d + k);
            MAXSIEVE_UNROLL
            for (int v = 0; v < Vectors; ++v) {
                const auto query = Vector::load(panel[v] + k * kPanel);
                MAXSIEVE_UNROLL
                for (int r = 0; r < Rows; ++r) chain[r][v] = Vector::fma(token[r], query, chain[r][v]);
            }
        } else {
            typename Vector::Register query[Vectors];
            MAXSIEVE_UNROLL
            for (int v = 0; v < Vectors; ++v) query[v] = Vector::load(panel[v] + k * kPanel);
            MAXSIEVE_UNROLL
            for (int r = 0; r < Rows; ++r) {
                const auto token = Vector::broadcast(rows + r * d + k);
                MAXSIEVE_UNROLL
                for (int v = 0; v < Vectors; ++v) chain[r][v] = Vector::fma(token, query[v], chain[r][v]);
            }
        }
    }
    MAXSIEVE_UNROLL
    for (int v = 0; v < Vectors; ++v) {
        auto largest = Vector::load(best[v]);
        MAXSIEVE_UNROLL
        for (int r = 0; r < Rows; ++r) largest = Vector::max(largest, chain[r][v]);
        Vector::store(best[v], largest);
    }
}

template <class Vector>
constexpr int rows_with(int vectors) {
    constexpr int kEnough = 12;
    if constexpr (requires { Vector::kAccumulators; }) {
        const int rows = Vector::kAccumulators / vectors;
        return rows < kEnough ? rows : kEnough;
    } else {
        return kEnough / vectors;
    }
}

template <class Vector, int Vectors>
void cells_vectors(const float* panels, int64_t first, int64_t d, const float* rows, int64_t count, float* best_all) {
    const float* panel[Vectors];
    float* best[Vectors];
    for (int v = 0; v < Vectors; ++v) {
        const int64_t token = (first + v) * Vector::kLanes;
        panel[v] = panels + token / kPanel * (kPanel * d) + token % kPanel;
        best[v] = best_all + token;
    }
    for_each_row_block<rows_with<Vector>(Vectors)>(
        0, count, [&]<int Rows>(int64_t row) { cells_block<Vector, Vectors, Rows>(panel, d, rows + row * d, best); });
}

template <class Vector>
void generic_cells(const float* panels, int64_t tokens, int64_t d, const float* rows, int64_t count, float* best) {
    const int64_t vectors = (tokens + Vector::kLanes - 1) / Vector::kLanes;
    int64_t v = 0;
    for (; v + 4 <= vectors; v += 4) cells_vectors<Vector, 4>(panels, v, d, rows, count, best);
    switch (vectors - v) {
        case 3:
            cells_vectors<Vector, 3>(panels, v, d, rows, count, best);
            break;
        case 2:
            cells_vectors<Vector, 2>(panels, v, d, rows, count, best);
            break;
        case 1:
            cells_vectors<Vector, 1>(panels, v, d, rows, count, best);
            break;
        default:
            break;
    }
    // ISAs differ in which of two zeros is larger. Adding +0.0 turns -0.0 into +0.0 and changes nothing else.
    for (int64_t t = 0; t < tokens; ++t) best[t] += 0.0F;
}

}  // namespace
}  // namespace maxsieve
