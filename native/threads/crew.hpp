// The threads of one call: started with it, joined at its end. There is no global pool, hence nothing that a fork could
// leave half-alive in the child, and nothing that nested calls could fight over.
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
    // `threads` includes the calling one, which works too; 1 starts none.
    Crew(int threads, Interrupt& interrupt);
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    int size() const { return static_cast<int>(threads_.size()) + 1; }
    Interrupt& interrupt() const { return interrupt_; }

    // Runs work(task, worker) for task = 0..tasks-1, each once, in any order, workers numbered 0..size()-1. Returns
    // when all are done. After a failure, here or elsewhere in the call, it throws the call's first failure once
    // everybody here has stopped. Work may have crews of its own, with the same interrupt.
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
    bool leaving_ = false;
    std::atomic<bool> failed_{false};
};

}  // namespace maxsieve
