// The steps of a search, recorded on request. A search without a trace compares a pointer with null, once per round and
// once for each document that is rescored.
//
// If there are very many candidates, only some are recorded. They are chosen before the traced search begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "index/corpus.hpp"
#include "search/top_k.hpp"

namespace maxsieve {

struct Trace {
    static constexpr int32_t kByTier0 = -1;
    static constexpr int64_t kMostShown = 5000;
    static constexpr int64_t kMostIntervals = int64_t{1} << 22;

    // The interval of each shown document; NaN if it was not active.
    struct Round {
        int64_t active, dropped, revealed;
        double threshold;  // the K-th largest lower bound
        std::vector<double> lower, upper;
    };

    // A canonical score, and the K-th best score known after it.
    struct Score {
        int64_t position;
        float score;
        double threshold;
    };

    const char* policy = nullptr;
    int64_t k = 0;
    int64_t documents = 0;        // number of candidates
    std::vector<int64_t> shown;   // positions, ascending
    std::vector<int64_t> tokens;  // query tokens, in the order in which they are revealed
    std::vector<int32_t> tier0;   // proxies of the shown documents; empty without tier 0
    std::vector<Round> rounds;
    std::vector<int32_t> dropped;  // by shown document: the round (from 1) that dropped it, 0 for none, or kByTier0
    std::vector<Score> scores;     // of shown documents, in the order of rescoring
    int64_t unseen = -1;           // the position of the first document that need not be rescored; -1 for none
    double unseen_upper = 0.0;
    std::vector<std::pair<const char*, int64_t>> bytes;  // bytes of codes, vectors and centroids that each stage read
    int64_t bytes_of_all = 0;                            // bytes of the vectors of all candidates

    explicit Trace(std::vector<int64_t> shown_in) : shown(std::move(shown_in)), dropped(shown.size(), 0) {}

    // The index of a document in `shown`, or -1.
    int64_t place(int64_t position) const;

    void begin_round(int64_t active, int64_t revealed, double threshold);
    void interval(int64_t position, double lower, double upper, bool stays);
    void score(int64_t position, float score, double threshold);
    void add_tier0(std::span<const int64_t> candidates, std::span<const int32_t> proxies,
                   std::span<const int64_t> survivors);
    void add_bytes(const char* stage, int64_t count);
};

// Bytes of the documents' codes, vectors and centroids.
int64_t bytes_of_codes(const Corpus& corpus, std::span<const int64_t> positions);
int64_t bytes_of_rows(const Corpus& corpus, std::span<const int64_t> positions);
int64_t bytes_of_centroids(const Corpus& corpus, std::span<const int64_t> positions);

// Chooses at most `most` of the candidates to show: the best hits, the first document that need not be rescored, the
// rescored documents if they fill at most half, and a random sample of the others. `first` is the trace of a search
// that showed none.
std::vector<int64_t> choose_shown(const Trace& first, std::span<const Scored> hits, std::span<const int64_t> candidates,
                                  int64_t most);

}  // namespace maxsieve
