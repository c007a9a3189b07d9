#include "binding/without_gil.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "binding/stopping.hpp"

#ifndef _WIN32
#include <pthread.h>
#endif

namespace nb = nanobind;

namespace maxsieve {
namespace {

constexpr auto kLongestWait = std::chrono::seconds(10);  // a Python callback may wait for something else
constexpr auto kPause = std::chrono::milliseconds(1);

// `ending` changes, and `running` grows, only with the GIL held. So work that starts after Python began to exit is not
// counted.
std::atomic<bool> ending{false};
std::atomic<int> running{0};

void wait_for_work() {
    ending = true;
    PyThreadState* state = PyEval_SaveThread();
    const auto until = std::chrono::steady_clock::now() + kLongestWait;
    while (running > 0 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(kPause);
    PyEval_RestoreThread(state);
}

[[noreturn]] void sleep_forever() {
    while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace

WithoutGil::WithoutGil() {
    if (ending) return;
    ++running;
    state_ = PyEval_SaveThread();
}

WithoutGil::~WithoutGil() {
    if (state_ == nullptr) return;
    if (ending) {
        --running;
        sleep_forever();
    }
    PyEval_RestoreThread(state_);
    --running;
}

void WithoutGil::check() const {
    if (state_ != nullptr && ending) throw StoppedError();
}

void wait_for_work_at_exit() {
    nb::module_::import_("atexit").attr("register")(nb::cpp_function(&wait_for_work));
#ifndef _WIN32
    pthread_atfork(nullptr, nullptr, [] { running = 0; });
#endif
}

}  // namespace maxsieve
