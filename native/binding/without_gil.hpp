// Work without the GIL, which ends before Python does.
//
// When Python has ended, it ends every thread that asks for the GIL, right where it asks. A thread with C++ frames
// can't be ended like this: the whole process aborts. Such threads are daemon threads, and those that other libraries
// made. So Python waits at its end until no work is left, and work that ends from then on asks for nothing any more.
#pragma once

#include <nanobind/nanobind.h>

namespace maxsieve {

// Releases the GIL until the end of the scope. If Python has begun to end, the GIL stays with the thread, so that it
// need not ask for it; and a thread that has released it before never comes back from the destructor.
class WithoutGil {
  public:
    WithoutGil();
    ~WithoutGil();
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;

    // Throws if the work is to end because Python does.
    void check() const;

  private:
    PyThreadState* state_ = nullptr;  // null: the GIL was not released
};

// Has Python wait for the work of other threads when it ends. Call it once.
void wait_at_the_end();

}  // namespace maxsieve
