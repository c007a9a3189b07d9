// Stops a call early, on all its threads: because the caller asks for it, or because some part of the work has failed.
// The thread that made the call polls (for Python: pending signals), at most every 50 ms; the others see a flag. Work
// is cut into pieces of a few milliseconds with a check between them.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace maxsieve {

// Thrown by a check after the call was stopped elsewhere. It says nothing of the reason, which `Interrupt` keeps.
class Interrupted : public std::exception {
  public:
    const char* what() const noexcept override { return "interrupted"; }
};

// One for each call. It keeps the first failure, whichever thread or nested crew that was in: what other threads throw
// because they were stopped never takes its place.
class Interrupt {
  public:
    // `poll` throws when the call shall end; only the constructing thread ever runs it.
    explicit Interrupt(std::function<void()> poll);

    // Throws what `poll` throws, or Interrupted once the call was stopped. Any thread.
    void check();

    // Stops the call because of the exception being handled: every later check throws, on any thread.
    void stop() noexcept;

    // Throws the failure that stopped the call. Only after a stop.
    [[noreturn]] void rethrow();

  private:
    std::function<void()> poll_;
    std::thread::id owner_ = std::this_thread::get_id();
    std::chrono::steady_clock::time_point polled_ = std::chrono::steady_clock::now();
    std::atomic<bool> stopped_{false};
    std::mutex mutex_;
    std::exception_ptr failure_;
};

}  // namespace maxsieve
