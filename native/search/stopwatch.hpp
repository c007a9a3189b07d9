// Measures the seconds of a search's stages.
#pragma once

#include <chrono>

namespace maxsieve {

class Stopwatch {
  public:
    // Seconds since the last call, or since the start.
    double lap() {
        const Clock::time_point before = last_;
        last_ = Clock::now();
        return std::chrono::duration<double>(last_ - before).count();
    }

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point last_ = Clock::now();
};

}  // namespace maxsieve
