// For a block of document tokens and some query tokens: the sums of the query's codes, for the signs of the document
// tokens; `level_sums` in spec/residual.py is the definition.
//
// For each four numbers of a query token there is a table of 16 bytes: their sum for each pattern of four signs, in
// whole steps, made unsigned by the largest sum of the four. Half a byte of the codes, as they are stored, is a place
// in the table. Lanes are document tokens: one instruction looks up 16, 32 or 64 of them. The codes are transposed for
// that, in registers, once for all query tokens. Four sums fit into a byte (their steps are chosen so), and are then
// added to int16. In all that is about ten instructions for 16 numbers of 32 or 64 document tokens. The sums are
// transposed back to [document token][query token], where documents may end anywhere.
//
// Overflow: the sums of 16 numbers are within +-127, so that they are below 255 when made unsigned: a byte. 4096
// numbers have 256 of these: within +-32,512, an int16. Sums wrap around modulo 2^16 on the way.
#pragma once

#include "compiler.hpp"
#include "kernels/generic/byte_registers.hpp"
#include "kernels/kernel.hpp"

namespace maxsieve {
namespace {

#if defined(__AVX2__) || defined(__aarch64__)

class SignSums {
    using Register = ByteRegister<kBytesOfRegister>;
    using Bytes = typename Register::Bytes;
    static constexpr int kRegisters = 2;

  public:
    static constexpr int64_t kBlock = kRegisters * kBytesOfRegister;  // document tokens

    SignSums(const ResidualQuery& query, int8_t* scratch)
        : query_(query),
          tables_(sign_tables(query.d)),
          places_(reinterpret_cast<uint8_t*>(scratch)),
          words_(reinterpret_cast<int16_t*>(scratch + tables_ * kBlock)) {}

    // Takes a plane of the codes: bytes `at` and after of kBlock rows. 16 bytes of each may be read beyond its end.
    void take(const uint8_t* const* rows, int64_t at) {
        const int64_t plane = (query_.d + 7) / 8;
        for (int r = 0; r < kRegisters; ++r) {
            for (int64_t first = 0; first < plane; first += 16) {
                Bytes bytes[16];
                for (int i = 0; i < 16; ++i) {
                    bytes[i] = Register::gather(rows + r * kBytesOfRegister + i, at + first);
                }
                for (int turn = 0; turn < 4; ++turn) {  // four perfect shuffles are a transposition
                    Bytes next[16];
                    MAXSIEVE_UNROLL
                    for (int i = 0; i < 8; ++i) {
                        next[2 * i] = Register::zip_first(bytes[i], bytes[i + 8]);
                        next[2 * i + 1] = Register::zip_last(bytes[i], bytes[i + 8]);
                    }
                    MAXSIEVE_UNROLL
                    for (int i = 0; i < 16; ++i) bytes[i] = next[i];
                }
                uint8_t* to = places_ + 2 * first * kBlock + r * kBytesOfRegister;
                for (int64_t i = 0; i < 16 && first + i < plane; ++i, to += 2 * kBlock) {
                    Register::store(to, Register::low_halves(bytes[i]));
                    Register::store(to + kBlock, Register::high_halves(bytes[i]));
                }
            }
        }
    }

    // rows[j * Lanes + t] = the sums of query tokens `first` to `first + tokens - 1`. It calls `meanwhile` once for
    // every four query tokens.
    template <int Lanes, class Meanwhile>
    void sum(int64_t first, int64_t tokens, const Meanwhile& meanwhile, int16_t* rows) {
        for (int64_t t = 0; t < tokens; t += Register::kTogether) {
            if (t % 4 == 0) meanwhile();
            look_up(first + t, words_ + t * kBlock);
        }
        for (int64_t t = 0; t < tokens; t += 8) transpose<Lanes>(words_ + t * kBlock, rows + t);
    }

  private:
    // words[i * kBlock ...]: the sums of query token t + i, for all document tokens.
    [[gnu::noinline]] void look_up(int64_t t, int16_t* words) const {
        constexpr int kTogether = Register::kTogether;
        const uint8_t *tables = query_.sums + sign_table_at(t, query_.d), *places = places_;
        typename Register::Sums sums[kTogether][kRegisters];
        MAXSIEVE_UNROLL
        for (int i = 0; i < kTogether; ++i) {
            MAXSIEVE_UNROLL
            for (int r = 0; r < kRegisters; ++r) {
                sums[i][r] = Register::start(static_cast<int16_t>(-query_.unsigned_by[t + i]));
            }
        }
        for (int64_t g = 0; g < tables_; g += 4, tables += 4 * 16) {
            Bytes four[kTogether][kRegisters];
            MAXSIEVE_UNROLL
            for (int k = 0; k < 4; ++k, places += kBlock) {
                Bytes place[kRegisters];
                MAXSIEVE_UNROLL
                for (int r = 0; r < kRegisters; ++r) place[r] = Register::load(places + r * kBytesOfRegister);
                MAXSIEVE_UNROLL
                for (int i = 0; i < kTogether; ++i) {
                    const Bytes table = Register::repeat(tables + (i * tables_ + k) * 16);
                    MAXSIEVE_UNROLL
                    for (int r = 0; r < kRegisters; ++r) {
                        const Bytes found = Register::look_up(table, place[r]);
                        four[i][r] = k == 0 ? found : Register::plus(four[i][r], found);
                        MAXSIEVE_IN_REGISTER(four[i][r]);  // one after the other: others would take more registers
                    }
                }
            }
            MAXSIEVE_UNROLL
            for (int i = 0; i < kTogether; ++i) {
                MAXSIEVE_UNROLL
                for (int r = 0; r < kRegisters; ++r) Register::add(sums[i][r], four[i][r]);
            }
        }
        MAXSIEVE_UNROLL
        for (int i = 0; i < kTogether; ++i) {
            MAXSIEVE_UNROLL
            for (int r = 0; r < kRegisters; ++r) {
                int16_t* to = words + i * kBlock + r * kBytesOfRegister;
                Register::store(to, Register::first(sums[i][r]));
                Register::store(to + kBytesOfRegister / 2, Register::second(sums[i][r]));
            }
        }
    }

    // The words of eight query tokens, to rows of query tokens.
    template <int Lanes>
    static void transpose(const int16_t* words, int16_t* rows) {
        MAXSIEVE_UNROLL
        for (int half = 0; half < 2 * kRegisters; ++half, words += kBytesOfRegister / 2) {
            Bytes eight[8];
            MAXSIEVE_UNROLL
            for (int i = 0; i < 8; ++i) eight[i] = Register::load(words + i * kBlock);
            MAXSIEVE_UNROLL
            for (int turn = 0; turn < 3; ++turn) {
                Bytes next[8];
                MAXSIEVE_UNROLL
                for (int i = 0; i < 4; ++i) {
                    next[2 * i] = Register::zip_first_words(eight[i], eight[i + 4]);
                    next[2 * i + 1] = Register::zip_last_words(eight[i], eight[i + 4]);
                }
                MAXSIEVE_UNROLL
                for (int i = 0; i < 8; ++i) eight[i] = next[i];
            }
            MAXSIEVE_UNROLL
            for (int w = 0; w < 8; ++w) {
                const int64_t row = half / 2 * kBytesOfRegister + Register::place(w, half % 2);
                Register::scatter(rows + row * Lanes, 16 * Lanes, eight[w]);
            }
        }
    }

    const ResidualQuery& query_;
    int64_t tables_;
    uint8_t* places_;  // [tables][kBlock]
    int16_t* words_;   // [query tokens][kBlock]
};

#else

// Without such an instruction, lanes are query tokens: each half byte of a document token names a row of sums.
class SignSums {
  public:
    static constexpr int64_t kBlock = 16;

    SignSums(const ResidualQuery& query, int8_t* scratch)
        : query_(query), tables_(sign_tables(query.d)), rows_(reinterpret_cast<uint8_t*>(scratch)) {}

    void take(const uint8_t* const* codes, int64_t at) { codes_ = codes, at_ = at; }

    template <int Lanes, class Meanwhile>
    void sum(int64_t first, int64_t tokens, const Meanwhile&, int16_t* rows) {
        if (first != filled_) fill(first, tokens);
        for (int64_t j = 0; j < kBlock; ++j, rows += Lanes) sum_row<Lanes>(first, codes_[j] + at_, rows);
    }

  private:
    void fill(int64_t first, int64_t tokens) {
        for (int64_t t = 0; t < kStrip; ++t) {
            const uint8_t* table = query_.sums + sign_table_at(first + (t < tokens ? t : 0), query_.d);
            for (int64_t g = 0; g < tables_; ++g, table += 16) {
                for (int64_t i = 0; i < 16; ++i) rows_[(g * 16 + i) * kStrip + t] = table[i];
            }
        }
        filled_ = first;
    }

    template <int Lanes>
    void sum_row(int64_t first, const uint8_t* codes, int16_t* row) const {
        const int64_t plane = (query_.d + 7) / 8;
        int16_t total[kStrip] = {};
        for (int64_t i = 0; i < plane; ++i) {
            const uint8_t* low = rows_ + (2 * i * 16 + (codes[i] & 15)) * kStrip;
            const uint8_t* high = rows_ + ((2 * i + 1) * 16 + (codes[i] >> 4)) * kStrip;
            for (int64_t t = 0; t < kStrip; ++t) total[t] = static_cast<int16_t>(total[t] + low[t] + high[t]);
        }
        for (int64_t t = 0; t < Lanes; ++t) {
            row[t] = static_cast<int16_t>(total[t] - query_.unsigned_by[first + t]);
        }
    }

    const ResidualQuery& query_;
    int64_t tables_, at_ = 0, filled_ = -1;
    uint8_t* rows_;  // [tables][16][kStrip]
    const uint8_t* const* codes_ = nullptr;
};

#endif

}  // namespace
}  // namespace maxsieve
