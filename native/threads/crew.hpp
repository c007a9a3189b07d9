// The threads of one call: started with it, joined at its end. There is no global pool: a fork can't break it in the
// child process, and nested calls don't compete for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "threads/interrupt.hpp"

namespace maxsieve {

class Crew {
  public:
    // `threads` includes the calling thread, which works too. With 1, no thread is started.
    Crew(int threads, Interrupt& interrupt);
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    int size() const { return static_cast<int>(threads_.size()) + 1; }
    Interrupt& interrupt() const { return interrupt_; }

    // Runs work(task, worker) once for each task in 0..tasks-1, in any order. Workers have the numbers 0..size()-1.
    // Returns when all tasks are done. If any part of the call has failed, it waits until all threads of this crew have
    // stopped, then throws the call's first failure. Work may have crews of its own, with the same interrupt.
    void run(int64_t tasks, const std::function<void(int64_t task, int worker)>& work);

  private:
    void serve(int worker);
    void take_tasks(int worker);
    template <class Action>
    void guard(const Action& action) noexcept;

    Interrupt& interrupt_;
    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable start_, done_;
    const std::function<void(int64_t, int)>* work_ = nullptr;
    int64_t tasks_ = 0;
    std::atomic<int64_t> next_{0};
    uint64_t generation_ = 0;
    int busy_ = 0;
    bool ending_ = false;
    std::atomic<bool> failed_{false};
};

}  // namespace maxsieve
