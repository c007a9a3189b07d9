#include "threads/interrupt.hpp"

#include <utility>

namespace maxsieve {

Interrupt::Interrupt(std::function<bool()> poll) : poll_(std::move(poll)) {}

void Interrupt::check() {
    if (stopped_.load(std::memory_order_relaxed)) throw Interrupted();
    if (std::this_thread::get_id() != owner_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - polled_ < std::chrono::milliseconds(50)) return;
    polled_ = now;
    if (poll_()) {
        stop();
        throw Interrupted();
    }
}

}  // namespace maxsieve
