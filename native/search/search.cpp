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

std::vector<Answer> search_group(const Task& task) {
    std::vector<Answer> answers;
    switch (task.policy.kind) {
        case PolicyKind::certified:
            answers = search_certified(task);
            break;
        case PolicyKind::bandit:
            answers = search_bandit(task);
            break;
        case PolicyKind::exhaustive:
            answers = search_exhaustive(task);
            break;
    }
    for (Answer& answer : answers) {
        answer.isa = task.kernel.name;
        for (const auto& [stage, seconds] : answer.stages) answer.seconds += seconds;
    }
    return answers;
}

// Ranges of neighbouring queries with the same candidates. More tokens at once gain nothing: a document's codes have
// then been used often enough to pay for reading them. What a group keeps, two float64 bounds for each query and
// document, is limited too.
std::vector<std::span<const Query>> grouped(std::span<const Query> queries) {
    constexpr int64_t kMostTokens = 1024;
    constexpr size_t kMostBounds = size_t{1} << 23;
    std::vector<std::span<const Query>> groups;
    for (size_t first = 0; first < queries.size();) {
        const auto candidates = queries[first].candidates;
        int64_t tokens = queries[first].tokens;
        size_t last = first + 1;
        for (; last < queries.size(); ++last) {
            tokens += queries[last].tokens;
            const bool same = queries[last].candidates.data() == candidates.data() &&
                              queries[last].candidates.size() == candidates.size();
            if (!same || tokens > kMostTokens || (last - first + 1) * candidates.size() > kMostBounds) break;
        }
        groups.push_back(queries.subspan(first, last - first));
        first = last;
    }
    return groups;
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
    const std::vector<std::span<const Query>> groups = grouped(queries);
    std::vector<Answer> answers(queries.size());
    const auto run = [&](std::span<const Query> group, Crew& crew) {
        std::vector<Answer> found = search_group({corpus, group, k, policy, kernel, crew, interrupt, trace});
        std::move(found.begin(), found.end(), answers.begin() + (group.data() - queries.data()));
    };
    Crew crew(threads, interrupt);
    if (groups.size() >= static_cast<size_t>(threads) && threads > 1) {
        crew.run(static_cast<int64_t>(groups.size()), [&](int64_t i, int) {
            Crew alone(1, interrupt);
            run(groups[static_cast<size_t>(i)], alone);
        });
    } else {
        for (const auto& group : groups) {
            interrupt.check();
            run(group, crew);
        }
    }
    return answers;
}

void Task::for_each_query(const std::function<void(size_t, Crew&)>& work) const {
    if (queries.size() == 1) {
        work(0, crew);
        return;
    }
    crew.run(static_cast<int64_t>(queries.size()), [&](int64_t i, int) {
        Crew alone(1, interrupt);
        work(static_cast<size_t>(i), alone);
    });
}

}  // namespace maxsieve
