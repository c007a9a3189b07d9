// Prefetching through a list of spans. Documents of a candidate list lie anywhere, and the hardware follows a stream no
// further than its page: the cursor here stays kAhead bytes before the work, and goes on in the next span when it has
// reached the end of one. Behind the last it runs straight on, where the next documents of a whole corpus are; a
// prefetch can't fault.
#pragma once

#include "kernels/kernel.hpp"

namespace maxsieve {
namespace {

class Ahead {
  public:
    Ahead(const CodeSpan* spans, int64_t count, int64_t stride) : span_(spans), end_(spans + count), stride_(stride) {
        if (count > 0) enter();
        owe(kAhead);
        pay(kAhead);
    }

    // Work on that many bytes begins: as many shall be prefetched, a few at a time, in the course of it.
    void owe(int64_t bytes) { owed_ += bytes; }

    // Inlined even where that seems dear: a call would spill the caller's vector registers.
    [[gnu::always_inline]] inline void pay(int64_t at_most) {
        int64_t bytes = at_most < owed_ ? at_most : owed_;
        owed_ -= bytes;
        while (bytes > 0) {
            if (left_ <= 0 && span_ + 1 < end_) {
                ++span_;
                enter();
                continue;
            }
            const int64_t piece = left_ > 0 && left_ < bytes ? left_ : bytes;
            for (int64_t line = 0; line < piece; line += kLineBytes) __builtin_prefetch(next_ + line);
            next_ += piece;
            left_ -= piece;
            bytes -= piece;
        }
    }

  private:
    static constexpr int64_t kLineBytes = 64;
    // At 4 ns for a token of 128 bytes, 4 KiB are 128 ns of work: the latency of memory.
    static constexpr int64_t kAhead = 4096;

    void enter() {
        next_ = span_->codes;
        left_ = span_->rows * stride_;
    }

    const CodeSpan *span_, *end_;
    int64_t stride_;
    const int8_t* next_ = nullptr;
    int64_t left_ = 0, owed_ = 0;
};

}  // namespace
}  // namespace maxsieve
