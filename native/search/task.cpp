#include "search/task.hpp"

namespace maxsieve {

void Task::for_each_query(const std::function<void(size_t, const Engine&)>& work) const {
    if (queries.size() == 1) {
        work(0, engine);
        return;
    }
    engine.crew.run(static_cast<int64_t>(queries.size()), [&](int64_t i, int) {
        Crew alone(1, engine.interrupt());
        work(static_cast<size_t>(i), {engine.corpus, engine.kernel, alone});
    });
}

}  // namespace maxsieve
