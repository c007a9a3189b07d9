// Prefetching through a list of spans. The documents of a candidate list can be anywhere in memory, and the hardware
// prefetcher stops at the end of a page. The cursor here stays `lead` bytes ahead of the work, and continues with the
// next span at the end of one. After the last span it continues straight ahead, where the next documents of a whole
// corpus are; a prefetch can't fault.
//
// A kernel reads the same rows once for each group of query tokens. They are prefetched only the first time: `begin`
// says how many bytes there are, and requests beyond them are ignored.
#pragma once

#include "compiler.hpp"
#include "kernels/kernel.hpp"

namespace maxsieve {
namespace {

constexpr int64_t kLineBytes = 64;
// The latency of memory is some 130 to 200 ns, and a token of 128 bytes takes 4 ns.
constexpr int64_t kLead = 4096;

class Prefetcher {
  public:
    Prefetcher(const CodeSpan* spans, int64_t count, int64_t stride, int64_t lead = kLead)
        : span_(spans), end_(spans + count), stride_(stride) {
        if (count > 0) next_ = span_->codes, left_ = span_->rows * stride_;
        begin(lead);
        advance(lead);
    }

    // Work on so many bytes begins.
    void begin(int64_t bytes) { due_ += bytes; }

    // Prefetches the next bytes, but no more than are due. This function and `take` are always inlined: a call would
    // spill the caller's vector registers.
    [[gnu::always_inline]] inline void advance(int64_t at_most) {
        int64_t bytes = at_most < due_ ? at_most : due_;
        due_ -= bytes;
        while (bytes > 0) {
            enter_next_spans();
            const int64_t piece = left_ > 0 && left_ < bytes ? left_ : bytes;
            for (int64_t line = 0; line < piece; line += kLineBytes) MAXSIEVE_PREFETCH(next_ + line);
            next_ += piece;
            left_ -= piece;
            bytes -= piece;
        }
    }

    // For a kernel that spreads prefetches over its own loop. Returns the address of the next bytes, or `otherwise` if
    // none are due. The bytes may cross the end of a span; the next call continues in the right place.
    [[gnu::always_inline]] inline const int8_t* take(int64_t bytes, const int8_t* otherwise) {
        if (due_ <= 0) return otherwise;
        due_ -= bytes;
        enter_next_spans();
        const int8_t* taken = next_;
        next_ += bytes;
        left_ -= bytes;
        return taken;
    }

  private:
    // left_ is negative if the cursor is beyond the end of a span. It continues that far into the next one.
    void enter_next_spans() {
        while (left_ <= 0 && span_ + 1 < end_) [[unlikely]] {
            ++span_;
            next_ = span_->codes - left_;
            left_ += span_->rows * stride_;
        }
    }

    const CodeSpan *span_, *end_;
    int64_t stride_;
    const int8_t* next_ = nullptr;
    int64_t left_ = 0, due_ = 0;  // bytes left in the span, and bytes due
};

}  // namespace
}  // namespace maxsieve
