// Calls that another thread can end. The calling thread writes `with stop: ...`; any thread may call `stop.request()`.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <exception>

namespace maxsieve {

// Thrown by a call after the stop that its thread watches was requested.
class StoppedError : public std::exception {
  public:
    const char* what() const noexcept override { return "the work was told to end"; }
};

class Stop {
  public:
    void request() { requested_.store(true, std::memory_order_relaxed); }
    bool requested() const { return requested_.load(std::memory_order_relaxed); }

    // From now until `leave`, this stop ends calls of this thread. Only one thread may use a stop at a time.
    void enter() {
        outer_ = watched;
        watched = this;
    }
    void leave() { watched = outer_; }

    // Throws if the stop that this thread watches was requested.
    static void check() {
        if (watched != nullptr && watched->requested()) throw StoppedError();
    }

  private:
    static inline thread_local Stop* watched = nullptr;
    std::atomic<bool> requested_{false};
    Stop* outer_ = nullptr;
};

void bind_stopping(nanobind::module_& m);

}  // namespace maxsieve
