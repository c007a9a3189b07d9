#include "search/search.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>

#include "kernels/table.hpp"

namespace maxsieve {
namespace {

// The most that all running groups may keep. A single query may keep more.
constexpr size_t kMostBytes = size_t{128} << 20;

std::vector<Answer> search_group(const Policy& policy, const Task& task) {
    std::vector<Answer> answers = policy.search(task);
    for (Answer& answer : answers) {
        if (answer.survivors < 0) answer.survivors = static_cast<int64_t>(task.candidates().size());
        answer.isa = task.engine.kernel.name;
        for (const auto& [stage, seconds] : answer.stages) answer.seconds += seconds;
    }
    return answers;
}

// The bytes that a group of queries keeps during its search.
size_t bytes_of(std::span<const Query> group, const Policy& policy) {
    return group.size() * group.front().candidates.size() * policy.bytes_kept();
}

// Groups of neighbouring queries with the same candidates. A group has at most 1024 tokens: with more, reading the
// codes is a small part of the cost already. With residual bits that is so from 64 on, and their tables are large.
std::vector<std::span<const Query>> grouped(std::span<const Query> queries, const Corpus& corpus,
                                            const Policy& policy) {
    const int64_t most_tokens = corpus.residual_bits() == 0 ? 1024 : 64;
    std::vector<std::span<const Query>> groups;
    for (size_t first = 0; first < queries.size();) {
        const auto candidates = queries[first].candidates;
        int64_t tokens = queries[first].tokens;
        size_t last = first + 1;
        for (; last < queries.size(); ++last) {
            tokens += queries[last].tokens;
            const bool same = queries[last].candidates.data() == candidates.data() &&
                              queries[last].candidates.size() == candidates.size();
            const auto with_this = queries.subspan(first, last - first + 1);
            if (!same || tokens > most_tokens || bytes_of(with_this, policy) > kMostBytes) break;
        }
        groups.push_back(queries.subspan(first, last - first));
        first = last;
    }
    return groups;
}

// Whether each thread runs groups of its own.
bool side_by_side(const std::vector<std::span<const Query>>& groups, const Policy& policy, size_t threads) {
    size_t largest = 0;
    for (const auto group : groups) largest = std::max(largest, bytes_of(group, policy));
    return threads > 1 && groups.size() >= threads && largest <= kMostBytes / threads;
}

// Starting a thread costs some 20 microseconds. Below about a million multiply-adds for each thread it does not pay.
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

std::vector<Answer> search(const Corpus& corpus, const std::vector<Query>& queries, int64_t k, const Policy& policy,
                           int threads, Interrupt& interrupt) {
    const Kernel& kernel = current_kernel();
    const std::vector<std::span<const Query>> groups = grouped(queries, corpus, policy);
    std::vector<Answer> answers(queries.size());
    const auto run = [&](std::span<const Query> group, Crew& crew) {
        std::vector<Answer> found = search_group(policy, {{corpus, kernel, crew}, group, k, nullptr});
        std::move(found.begin(), found.end(), answers.begin() + (group.data() - queries.data()));
    };
    Crew crew(useful_threads(corpus, queries, threads), interrupt);
    if (side_by_side(groups, policy, static_cast<size_t>(crew.size()))) {
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

Answer search_shared(const Corpus& corpus, const Query& query, int64_t k, const Policy& policy, int threads,
                     Exchange& exchange, Interrupt& interrupt) {
    Crew crew(useful_threads(corpus, {query}, threads), interrupt);
    return std::move(
        search_group(policy, {{corpus, current_kernel(), crew}, {&query, 1}, k, nullptr, &exchange}).front());
}

Answer search_traced(const Corpus& corpus, const Query& query, int64_t k, const Policy& policy, int threads,
                     Interrupt& interrupt) {
    Crew crew(useful_threads(corpus, {query}, threads), interrupt);
    const auto run = [&](std::vector<int64_t> shown) {
        auto trace = std::make_unique<Trace>(std::move(shown));
        trace->policy = policy.name();
        trace->k = k;
        trace->documents = static_cast<int64_t>(query.candidates.size());
        trace->tokens.resize(static_cast<size_t>(query.tokens));
        std::iota(trace->tokens.begin(), trace->tokens.end(), 0);
        trace->bytes_of_all = bytes_of_rows(corpus, query.candidates);
        Answer answer =
            std::move(search_group(policy, {{corpus, current_kernel(), crew}, {&query, 1}, k, trace.get()}).front());
        answer.trace = std::move(trace);
        return answer;
    };
    const int64_t most = std::min(Trace::kMostShown, Trace::kMostIntervals / query.tokens);
    if (static_cast<int64_t>(query.candidates.size()) <= most) {
        return run({query.candidates.begin(), query.candidates.end()});
    }
    Answer answer = run({});
    answer.trace = run(choose_shown(*answer.trace, answer.hits, query.candidates, most)).trace;
    return answer;
}

}  // namespace maxsieve
