#include "threads/interrupt.hpp"

#include <utility>

namespace maxsieve {

Interrupt::Interrupt(std::function<void()> poll) : poll_(std::move(poll)) {}

void Interrupt::check() {
    if (stopped_.load(std::memory_order_relaxed)) throw Interrupted();
    if (std::this_thread::get_id() != owner_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - polled_ < std::chrono::milliseconds(50)) return;
    polled_ = now;
    poll_();
}

void Interrupt::stop() noexcept {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    stopped_.store(true, std::memory_order_relaxed);  // last: no check throws Interrupted before `failure_` is set
}

void Interrupt::rethrow() {
    const std::lock_guard lock(mutex_);
    std::rethrow_exception(failure_);
}

}  // namespace maxsieve
