// Stops a call early on all its threads, because the caller asks for it or because a part of the work has failed. The
// thread that made the call polls at most every 50 ms (for Python: pending signals). The other threads read a flag.
// Work is cut into pieces of a few milliseconds, with a check between them.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace maxsieve {

// Thrown by a check after the call was stopped elsewhere. `Interrupt` has the reason.
class Interrupted : public std::exception {
  public:
    const char* what() const noexcept override { return "interrupted"; }
};

// One for each call. It keeps the first failure of any thread or nested crew. What other threads throw because they
// were stopped never replaces it.
class Interrupt {
  public:
    // `poll` throws if the call has to end. Only the thread that constructs this object runs it.
    explicit Interrupt(std::function<void()> poll);

    // Throws what `poll` throws, or Interrupted if the call was stopped. Any thread may call it.
    void check();

    // Stops the call because of the exception that is being handled. From now on every check throws, on every thread.
    void stop() noexcept;

    // Throws the failure that stopped the call. Call it only after a stop.
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
