// Sets the default floating-point state for a scope: round to nearest, keep denormals. A process may have switched to
// flush-to-zero (torch.set_flush_denormal, a library built with -ffast-math), and its threads inherit that.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif
#include <cstdint>

namespace maxsieve {

class DefaultFloatingPoint {
  public:
    DefaultFloatingPoint() : saved_(read()) { write(kDefault); }
    ~DefaultFloatingPoint() { write(saved_); }
    DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
    DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

  private:
#if defined(__x86_64__)
    using State = unsigned int;
    static constexpr State kDefault = 0x1F80;  // all exceptions are masked, all other bits are 0
    static State read() { return _mm_getcsr(); }
    static void write(State state) { _mm_setcsr(state); }
#elif defined(__aarch64__)
    using State = uint64_t;
    static constexpr State kDefault = 0;
    static State read() {
        State state;
        asm volatile("mrs %0, fpcr" : "=r"(state));
        return state;
    }
    static void write(State state) { asm volatile("msr fpcr, %0" : : "r"(state)); }
#else
    using State = int;
    static constexpr State kDefault = 0;
    static State read() { return 0; }
    static void write(State) {}
#endif
    State saved_;
};

}  // namespace maxsieve
