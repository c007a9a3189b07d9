#include "search/search.hpp"

#include <algorithm>
#include <chrono>

#include "kernels/table.hpp"
#include "numeric/floating_point.hpp"

namespace maxsieve {
namespace {

int64_t now() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

Answer search_one(const Task& task) {
    Stopwatch watch;
    Answer answer;
    switch (task.policy.kind) {
        case PolicyKind::certified:
            answer = search_certified(task);
            break;
        case PolicyKind::bandit:
            answer = search_bandit(task);
            break;
        case PolicyKind::exhaustive:
            answer = search_exhaustive(task);
            break;
    }
    answer.seconds = watch.lap();
    return answer;
}

// Starting a thread costs some 20 microseconds: not worth it below about a million multiply-adds a thread.
int useful_threads(const Corpus& corpus, const std::vector<Query>& queries, int threads) {
    const double mean_length =
        static_cast<double>(corpus.tokens()) / static_cast<double>(std::max<int64_t>(1, corpus.documents()));
    double work = 0.0;
    for (const Query& query : queries) {
        work +=
            mean_length * static_cast<double>(query.candidates.size()) * static_cast<double>(query.tokens * corpus.d());
    }
    return static_cast<int>(std::clamp(work / 1e6, 1.0, static_cast<double>(threads)));
}

}  // namespace

Stopwatch::Stopwatch() : last_(now()) {}

double Stopwatch::lap() {
    const int64_t before = last_;
    last_ = now();
    return static_cast<double>(last_ - before) * 1e-9;
}

std::vector<Answer> search(const Corpus& corpus, const std::vector<Query>& queries, int64_t k, const Policy& policy,
                           int threads, bool trace, const std::function<bool()>& poll) {
    const DefaultFloatingPoint state;
    const Kernel& kernel = current_kernel();
    Interrupt interrupt(poll);
    threads = useful_threads(corpus, queries, threads);
    std::vector<Answer> answers(queries.size());
    Crew crew(threads, interrupt);
    if (queries.size() >= static_cast<size_t>(threads) && threads > 1) {
        crew.run(static_cast<int64_t>(queries.size()), [&](int64_t i, int) {
            Crew alone(1, interrupt);
            const Query& query = queries[static_cast<size_t>(i)];
            answers[static_cast<size_t>(i)] = search_one({corpus, query, k, policy, kernel, alone, interrupt, trace});
        });
    } else {
        for (size_t i = 0; i < queries.size(); ++i) {
            interrupt.check();
            answers[i] = search_one({corpus, queries[i], k, policy, kernel, crew, interrupt, trace});
        }
    }
    return answers;
}

}  // namespace maxsieve
