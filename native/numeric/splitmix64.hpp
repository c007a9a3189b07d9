// The generator of all random choices, equal everywhere; `Draws` in spec/arithmetic.py is the definition.
#pragma once

#include <cstdint>

namespace maxsieve {

class SplitMix64 {
  public:
    explicit SplitMix64(uint64_t seed) : state_(seed) {}

    uint64_t word() {
        uint64_t word = state_ += 0x9E3779B97F4A7C15U;
        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9U;
        word = (word ^ (word >> 27)) * 0x94D049BB133111EBU;
        return word ^ (word >> 31);
    }

    // A uniform number below n. Words below 2^64 mod n are rejected.
    uint64_t below(uint64_t n) {
        const uint64_t reject_below = (0 - n) % n;
        uint64_t drawn = word();
        while (drawn < reject_below) drawn = word();
        return drawn % n;
    }

  private:
    uint64_t state_;
};

}  // namespace maxsieve
