// One search: what goes in, what comes out, and the three policies.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "index/corpus.hpp"
#include "kernels/kernel.hpp"
#include "search/top_k.hpp"
#include "threads/crew.hpp"
#include "threads/interrupt.hpp"

namespace maxsieve {

enum class PolicyKind { certified, bandit, exhaustive };
enum class Radius { paper, serfling };
enum class Guarantee { exact, pac, none };

// A number that can't come from vectors that were checked on their way in: the index has been damaged since. Thrown
// before a NaN could upset an ordering.
class DamagedData : public std::runtime_error {
  public:
    DamagedData() : std::runtime_error("the index holds numbers that no document has: it is damaged; see verify()") {}
};

inline void require_finite(double x) {
    if (!std::isfinite(x)) throw DamagedData();
}

struct Policy {
    PolicyKind kind = PolicyKind::certified;
    double alpha = 0.2, delta = 0.01;
    int64_t margin = 5, block = 4;
    uint64_t seed = 0;
    Radius radius = Radius::paper;
};

struct Query {
    const float* rows;  // [tokens][d]
    int64_t tokens;
    std::span<const int64_t> candidates;  // positions of non-empty documents, ascending
};

struct Round {
    int64_t active, revealed;
    double threshold;
};

struct Answer {
    std::vector<Scored> hits;
    Guarantee guarantee = Guarantee::exact;
    double coverage = 1.0;
    int64_t rescored = 0;
    std::vector<Round> rounds;
    std::vector<std::pair<std::string, double>> stages;  // seconds of each
    const char* isa = nullptr;                           // the kernel that ran
    double seconds = 0.0;
    std::vector<int32_t> dropped;  // for each candidate the round (from 1) that dropped it, 0 for none; on request
};

// What a policy works with. The queries have the same candidates: each document is read once for all of them.
struct Task {
    const Corpus& corpus;
    std::span<const Query> queries;  // one or more
    int64_t k;
    const Policy& policy;
    const Kernel& kernel;
    Crew& crew;
    Interrupt& interrupt;
    bool trace;

    std::span<const int64_t> candidates() const { return queries.front().candidates; }

    // Runs work(i, crew) for each query: with the whole crew for a single one, side by side and each alone for several.
    void for_each_query(const std::function<void(size_t i, Crew& crew)>& work) const;
};

// P_i - eps_i and P_i + eps_i of every candidate: the canonical score lies between them, always.
struct CertifiedBounds {
    std::vector<double> lower, upper;
};
std::vector<CertifiedBounds> certified_bounds(const Task& task);

// An answer for each query. Where work was done for all of them at once, each answer's stages have its share of the
// seconds.
std::vector<Answer> search_certified(const Task& task);
std::vector<Answer> search_bandit(const Task& task);
std::vector<Answer> search_exhaustive(const Task& task);

// All queries, gathered into groups with the same candidates: groups side by side when there are as many as threads,
// one after the other with threads inside each when fewer.
std::vector<Answer> search(const Corpus& corpus, const std::vector<Query>& queries, int64_t k, const Policy& policy,
                           int threads, bool trace, const std::function<bool()>& poll);

// Seconds since the last lap.
class Stopwatch {
  public:
    Stopwatch();
    double lap();

  private:
    int64_t last_;
};

}  // namespace maxsieve
