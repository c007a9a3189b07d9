// Selects the best documents.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace maxsieve {

struct Scored {
    int64_t position;
    int64_t order;  // Corpus::order
    float score;
};

// A higher score is better. Of equal scores, the document that was added earlier is better.
inline bool better(const Scored& a, const Scored& b) {
    return a.score != b.score ? a.score > b.score : a.order < b.order;
}

// The k best, best first.
std::vector<Scored> top_k(std::vector<Scored> all, int64_t k);

// Keeps the k largest numbers seen.
class KLargest {
  public:
    explicit KLargest(int64_t k) : k_(k) {}
    void push(double x);
    // The k-th largest so far, or -infinity if there are fewer.
    double kth() const;

  private:
    int64_t k_;
    std::vector<double> heap_;  // smallest on top
};

// The k-th largest of `x`, or -infinity if there are fewer.
double kth_largest(std::span<const double> x, int64_t k);

}  // namespace maxsieve
