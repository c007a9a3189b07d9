#include "threads/crew.hpp"

#include <chrono>
#include <exception>

#include "numeric/floating_point.hpp"

namespace maxsieve {

Crew::Crew(int threads, Interrupt& interrupt) : interrupt_(interrupt) {
    threads_.reserve(static_cast<size_t>(threads));
    for (int worker = 1; worker < threads; ++worker) {
        try {
            threads_.emplace_back([this, worker] { serve(worker); });
        } catch (const std::exception&) {
            break;  // no more threads or memory: fewer threads do the work, with the same result
        }
    }
}

Crew::~Crew() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    start_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void Crew::run(int64_t tasks, const std::function<void(int64_t, int)>& work) {
    work_ = &work;
    tasks_ = tasks;
    failed_.store(false, std::memory_order_relaxed);
    next_.store(0, std::memory_order_relaxed);
    const bool alone = threads_.empty() || tasks < 2;
    if (!alone) {
        {
            const std::lock_guard lock(mutex_);
            busy_ = static_cast<int>(threads_.size());
            ++generation_;
        }
        start_.notify_all();
    }
    take_tasks(0);
    if (!alone) {
        std::unique_lock lock(mutex_);
        while (!done_.wait_for(lock, std::chrono::milliseconds(50), [this] { return busy_ == 0; })) {
            lock.unlock();
            guard([this] { interrupt_.check(); });
            lock.lock();
        }
    }
    if (failed_.load(std::memory_order_relaxed)) interrupt_.rethrow();
}

void Crew::serve(int worker) {
    const DefaultFloatingPoint state;
    uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
        start_.wait(lock, [&] { return ending_ || generation_ != seen; });
        if (ending_) return;
        seen = generation_;
        lock.unlock();
        take_tasks(worker);
        lock.lock();
        if (--busy_ == 0) done_.notify_one();
    }
}

void Crew::take_tasks(int worker) {
    guard([this, worker] {
        for (;;) {
            const int64_t task = next_.fetch_add(1, std::memory_order_relaxed);
            if (task >= tasks_) return;
            interrupt_.check();
            (*work_)(task, worker);
        }
    });
}

template <class Action>
void Crew::guard(const Action& action) noexcept {
    try {
        action();
    } catch (...) {
        // Failures are stored before other threads are stopped: so the first one is never an Interrupted.
        interrupt_.stop();
        failed_.store(true, std::memory_order_relaxed);
    }
}

}  // namespace maxsieve
