// Algorithm 1 of the paper on int8 proxies; spec/bandit.py is its definition, operation by operation.

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/permutation.hpp"
#include "search/query.hpp"
#include "search/radius.hpp"
#include "search/rescore.hpp"
#include "search/scan.hpp"
#include "search/search.hpp"

namespace maxsieve {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What is known of one candidate. Revealed values are scale * x; sums run in reveal order, those for sigma shifted by
// the first value, so that D2 - D^2/n loses at most a factor n in relative precision.
struct Row {
    int64_t candidate;  // its index among the candidates
    double total = 0.0, first = 0.0, shifted = 0.0, shifted_squares = 0.0;
    double lower = 0.0, upper = 0.0;                  // LCB and UCB
    double certain_lower = 0.0, certain_upper = 0.0;  // hard bounds widened by eps_i: they hold for the canonical score

    void reveal(double x, bool is_first) {
        if (is_first) first = x;
        total += x;
        const double shift = x - first;
        shifted += shift;
        shifted_squares += shift * shift;
    }
};

class Sieve {
  public:
    explicit Sieve(const Task& task)
        : task_(task),
          codes_(task.query.rows, task.query.tokens, task.corpus.d()),
          terms_(codes_),
          order_(permutation(codes_.tokens, task.policy.seed)),
          unrevealed_(static_cast<size_t>(codes_.tokens + 1), 0.0) {
        const auto candidates = task.query.candidates;
        double nu = 0.0;
        size_t hint = 0;
        active_.reserve(candidates.size());
        for (size_t i = 0; i < candidates.size(); ++i) {
            active_.push_back({.candidate = static_cast<int64_t>(i)});
            nu = std::max(nu, static_cast<double>(task.corpus.at(candidates[i], hint).nu));
        }
        // b_t = |q_t| max_i nu_i bounds a cell; 1 + 2^-38 pays for adding it up.
        for (int64_t n = codes_.tokens - 1; n >= 0; --n) {
            const double b = codes_.norm[static_cast<size_t>(order_[static_cast<size_t>(n)])] * nu * (1.0 + 0x1p-38);
            unrevealed_[static_cast<size_t>(n)] = unrevealed_[static_cast<size_t>(n + 1)] + b;
            largest_b_ = std::max(largest_b_, b);
        }
        largest_code_norm_ = *std::max_element(codes_.code_norm.begin(), codes_.code_norm.end());
        largest_eta_ = *std::max_element(codes_.eta.begin(), codes_.eta.end());
    }

    Answer run() {
        Stopwatch watch;
        Answer answer;
        double scan_seconds = 0.0, sieve_seconds = 0.0;
        if (task_.trace) answer.dropped.assign(active_.size(), 0);
        const auto candidates = static_cast<double>(active_.size());
        int64_t revealed_cells = 0, n = 0;
        while (static_cast<int64_t>(active_.size()) > task_.k + task_.policy.margin && n < codes_.tokens) {
            const int64_t count = std::min(task_.policy.block, codes_.tokens - n);
            reveal(n, count);
            n += count;
            revealed_cells += count * static_cast<int64_t>(active_.size());
            scan_seconds += watch.lap();
            eliminate(n, answer);
            sieve_seconds += watch.lap();
        }
        answer.coverage = candidates > 0
                              ? static_cast<double>(revealed_cells) / (candidates * static_cast<double>(codes_.tokens))
                              : 0.0;
        const bool pac = task_.policy.radius == Radius::serfling && task_.policy.alpha == 1.0;
        answer.guarantee = certain_ ? Guarantee::exact : pac ? Guarantee::pac : Guarantee::none;
        answer.hits = rescore();
        answer.rescored = static_cast<int64_t>(active_.size());
        answer.stages = {{"scan", scan_seconds}, {"sieve", sieve_seconds}, {"rescore", watch.lap()}};
        return answer;
    }

  private:
    // Reveals tokens order_[n], ..., order_[n + count - 1] of every active document and renews its bounds.
    void reveal(int64_t n, int64_t count) {
        const PackedCodes packed(task_.kernel, codes_, order_, n, count);
        std::vector<double> scale;
        for (int64_t i = n; i < n + count; ++i) {
            scale.push_back(static_cast<double>(codes_.scale[static_cast<size_t>(order_[static_cast<size_t>(i)])]));
        }
        const int64_t after = n + count, tokens = codes_.tokens;
        const auto candidates = static_cast<int64_t>(task_.query.candidates.size());
        const int64_t rounds = (tokens + task_.policy.block - 1) / task_.policy.block;
        RadiusFactors factors{kInfinity, kInfinity, 1};
        if (after > 1) factors = radius_factors(task_.policy, after, tokens, candidates, rounds);
        const std::vector<int64_t> positions = active_positions();
        scan(task_.corpus, positions, task_.kernel, packed, task_.crew, task_.interrupt,
             [&](int64_t i, const Document& document, const int32_t* maxima) {
                 Row& row = active_[static_cast<size_t>(i)];
                 for (int64_t t = 0; t < count; ++t) {
                     row.reveal(scale[static_cast<size_t>(t)] * maxima[t], n == 0 && t == 0);
                 }
                 bound(row, document, after, factors);
             });
    }

    void bound(Row& row, const Document& document, int64_t n, const RadiusFactors& factors) const {
        const auto size = static_cast<double>(n), scale = static_cast<double>(document.scale);
        const double revealed = scale * row.total, open = unrevealed_[static_cast<size_t>(n)];
        const double epsilon = terms_.epsilon(document.rho, document.nu);
        const double hard_lower = revealed - open, hard_upper = revealed + open;
        row.certain_lower = hard_lower - epsilon;
        row.certain_upper = hard_upper + epsilon;
        const bool paper = task_.policy.radius == Radius::paper;
        double radius = kInfinity;
        if (n > 1) {
            const double squares = std::max(row.shifted_squares - row.shifted * row.shifted / size, 0.0);
            radius = factors.on_sigma * (scale * std::sqrt(squares / static_cast<double>(factors.degrees)));
            if (!paper) {
                const double cell_error = static_cast<double>(document.rho) * largest_code_norm_ +
                                          static_cast<double>(document.nu) * largest_eta_;
                radius = radius + factors.on_range * (2.0 * (largest_b_ + cell_error)) + epsilon;
            }
        }
        const double estimate = revealed * (static_cast<double>(codes_.tokens) / size);
        row.lower = std::max(paper ? hard_lower : row.certain_lower, estimate - radius);
        row.upper = std::min(paper ? hard_upper : row.certain_upper, estimate + radius);
        require_finite(estimate);
        require_finite(row.certain_lower);
    }

    void eliminate(int64_t n, Answer& answer) {
        const double tau = kth_of(&Row::lower);
        // LCB can exceed UCB, by rounding or by a proxy just above b_t: the K best by LCB stay all the same.
        const auto stays = [tau](const Row& row) { return row.upper >= tau || row.lower >= tau; };
        answer.rounds.push_back({static_cast<int64_t>(active_.size()), n, tau});
        if (std::all_of(active_.begin(), active_.end(), stays)) return;
        if (certain_) {
            const double certain_tau = kth_of(&Row::certain_lower);
            certain_ = std::all_of(active_.begin(), active_.end(),
                                   [&](const Row& row) { return stays(row) || row.certain_upper < certain_tau; });
        }
        if (task_.trace) {
            for (const Row& row : active_) {
                if (!stays(row)) {
                    answer.dropped[static_cast<size_t>(row.candidate)] = static_cast<int32_t>(answer.rounds.size());
                }
            }
        }
        std::erase_if(active_, [&](const Row& row) { return !stays(row); });
    }

    double kth_of(double Row::* bound) const {
        std::vector<double> bounds;
        bounds.reserve(active_.size());
        for (const Row& row : active_) bounds.push_back(row.*bound);
        return kth_largest(bounds, task_.k);
    }

    std::vector<int64_t> active_positions() const {
        std::vector<int64_t> positions;
        positions.reserve(active_.size());
        for (const Row& row : active_) positions.push_back(task_.query.candidates[static_cast<size_t>(row.candidate)]);
        return positions;
    }

    std::vector<Scored> rescore() const {
        const std::vector<int64_t> positions = active_positions();
        const std::vector<float> scores = Rescorer(task_).scores(positions);
        std::vector<Scored> scored(positions.size());
        for (size_t i = 0; i < scored.size(); ++i) scored[i] = {positions[i], scores[i]};
        return top_k(std::move(scored), task_.k);
    }

    const Task& task_;
    QueryCodes codes_;
    ErrorTerms terms_;
    std::vector<int64_t> order_;
    std::vector<double> unrevealed_;  // sum of b_t over the tokens not among the first n of order_
    double largest_b_ = 0.0, largest_code_norm_ = 0.0, largest_eta_ = 0.0;
    std::vector<Row> active_;
    bool certain_ = true;
};

}  // namespace

Answer search_bandit(const Task& task) {
    return Sieve(task).run();
}

}  // namespace maxsieve
