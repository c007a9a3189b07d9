// Work without the GIL that ends before Python ends.
//
// After Python has ended, a thread that asks for the GIL is killed at that point. If the thread has C++ frames, this
// aborts the whole process. It happens to daemon threads, and to threads of other libraries. So Python waits at its
// exit until all work has ended. Work that ends after Python began to exit never asks for the GIL again.
#pragma once

#include <nanobind/nanobind.h>

namespace maxsieve {

// Releases the GIL until the end of the scope. If Python has begun to exit, the GIL is not released. If Python began to
// exit after the GIL was released, the destructor never returns.
class WithoutGil {
  public:
    WithoutGil();
    ~WithoutGil();
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;

    // Throws if the work must end because Python exits.
    void check() const;

  private:
    PyThreadState* state_ = nullptr;  // null: the GIL was not released
};

// Makes Python wait at its exit for the work of other threads. Call it once.
void wait_for_work_at_exit();

}  // namespace maxsieve
