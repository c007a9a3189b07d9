// Stops a long call from outside. The thread that made the call polls (for Python: pending signals), at most every 50
// ms; the others see the flag. Work is cut into pieces of a few milliseconds with a check between them.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <thread>

namespace maxsieve {

class Interrupted : public std::exception {
  public:
    const char* what() const noexcept override { return "interrupted"; }
};

class Interrupt {
  public:
    // `poll` returns true when the call shall end; only the constructing thread ever runs it.
    explicit Interrupt(std::function<bool()> poll);

    // Throws Interrupted once the call shall end. Any thread.
    void check();

    // Makes every later check throw, on any thread.
    void stop() { stopped_.store(true, std::memory_order_relaxed); }

  private:
    std::function<bool()> poll_;
    std::thread::id owner_ = std::this_thread::get_id();
    std::chrono::steady_clock::time_point polled_ = std::chrono::steady_clock::now();
    std::atomic<bool> stopped_{false};
};

}  // namespace maxsieve
