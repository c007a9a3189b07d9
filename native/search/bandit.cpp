// Algorithm 1 of the paper, on int8 proxies; spec/bandit.py is the definition, operation by operation.

#include "search/bandit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "numeric/permutation.hpp"
#include "search/best_first.hpp"
#include "search/damage.hpp"
#include "search/radius.hpp"
#include "search/scan.hpp"
#include "search/stopwatch.hpp"

namespace maxsieve {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What is known about one candidate. A revealed value is scale * x. Sums are taken in reveal order. The sums for sigma
// are shifted by the first value, so that D2 - D^2/n loses at most a factor n in relative precision.
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

// The largest norm bound of the candidates.
double largest_nu(const Corpus& corpus, std::span<const int64_t> candidates) {
    float nu = 0.0F;
    size_t hint = 0;
    for (const int64_t position : candidates) nu = std::max(nu, corpus.at(position, hint).nu());
    return static_cast<double>(nu);
}

// The sieve of one query. A round calls `begin_round`, scans the `active_positions` for the `block_rows`, gives the
// maxima to `reveal`, and calls `end_round`.
class Sieve {
  public:
    // `total` counts the candidates of all members, and `nu` is the largest of their norm bounds.
    Sieve(const BanditKnobs& knobs, const Task& task, const Query& query, int64_t total, double nu)
        : knobs_(knobs),
          task_(task),
          query_(query),
          total_(total),
          codes_(task.engine.kernel, query.rows, query.tokens, task.engine.corpus.d(),
                 task.engine.corpus.residual_bits()),
          terms_(codes_, task.engine.corpus.residual_bits()),
          weights_(step_weights(codes_, task.engine.corpus.residual_bits())),
          order_(permutation(codes_.tokens, knobs.seed)),
          unrevealed_(static_cast<size_t>(codes_.tokens + 1), 0.0) {
        const auto candidates = static_cast<int64_t>(query.candidates.size());
        active_.reserve(query.candidates.size());
        for (int64_t i = 0; i < candidates; ++i) active_.push_back({.candidate = i});
        if (task.trace != nullptr) task.trace->tokens = order_;
        // b_t = |q_t| max_i nu_i bounds a cell. The factor 1 + 2^-38 covers the rounding of the sum.
        for (int64_t n = codes_.tokens - 1; n >= 0; --n) {
            const double b = codes_.norm[static_cast<size_t>(order_[static_cast<size_t>(n)])] * nu * (1.0 + 0x1p-38);
            unrevealed_[static_cast<size_t>(n)] = unrevealed_[static_cast<size_t>(n + 1)] + b;
            largest_b_ = std::max(largest_b_, b);
        }
    }

    bool wants_round() const { return wants_round(static_cast<int64_t>(active_.size())); }

    void begin_round() {
        block_ = std::min(knobs_.block, codes_.tokens - revealed_);
        scale_.clear();
        for (int64_t n = revealed_; n < revealed_ + block_; ++n) {
            scale_.push_back(weights_[static_cast<size_t>(order_[static_cast<size_t>(n)])]);
        }
        const int64_t after = revealed_ + block_, tokens = codes_.tokens;
        const int64_t rounds = (tokens + knobs_.block - 1) / knobs_.block;
        factors_ = {kInfinity, kInfinity, 1};
        if (after > 1) {
            factors_ = radius_factors(knobs_, after, tokens, total_, rounds);
        }
    }

    int64_t block() const { return block_; }

    // The codes of the tokens that this round reveals.
    std::vector<const int8_t*> block_rows() const {
        std::vector<const int8_t*> rows;
        for (int64_t n = revealed_; n < revealed_ + block_; ++n) {
            rows.push_back(codes_.row(order_[static_cast<size_t>(n)]));
        }
        return rows;
    }

    std::vector<int64_t> active_positions() const {
        std::vector<int64_t> positions;
        positions.reserve(active_.size());
        for (const Row& row : active_) positions.push_back(position_of(row));
        return positions;
    }

    // Takes the block's maxima of active documents, and updates the documents' bounds. The maxima of two neighbouring
    // documents are `tokens` numbers apart. Several threads may call it at the same time, for different documents.
    void reveal(const Scanned& scanned, int64_t tokens, const int32_t* maxima) {
        Row* row = active_.data() + scanned.first;
        for (const Document& document : scanned.documents) {
            for (int64_t t = 0; t < block_; ++t) {
                row->reveal(scale_[static_cast<size_t>(t)] * maxima[t], revealed_ == 0 && t == 0);
            }
            bound(*row++, document, revealed_ + block_);
            maxima += tokens;
        }
    }

    void end_round() {
        revealed_ += block_;
        revealed_cells_ += block_ * static_cast<int64_t>(active_.size());
        eliminate();
    }

    // Runs until the end. If a first round has been scanned already, it took `scan_seconds`.
    Answer finish(const Engine& engine, double scan_seconds) {
        Stopwatch watch;
        double sieve_seconds = 0.0;
        if (block_ > 0) end_round();
        sieve_seconds += watch.lap();
        while (wants_round()) {
            reveal_block(engine);
            scan_seconds += watch.lap();
            end_round();
            sieve_seconds += watch.lap();
        }
        conclude(certain_);
        rescore(engine);
        answer_.stages = {{"scan", scan_seconds}, {"sieve", sieve_seconds}, {"rescore", watch.lap()}};
        return std::move(answer_);
    }

    // Runs all rounds, over the shards of all members. An exchange tells how many documents the last round has left,
    // and the thresholds of the next round. So a block is revealed before it is known to be needed. This needs one
    // exchange a round, not two. The price: the last block, of few documents, may be useless.
    Answer finish_shared(Exchange& exchange) {
        const Engine& engine = task_.engine;
        Stopwatch watch;
        double scan_seconds = 0.0, sieve_seconds = 0.0;
        int64_t active = total_, uncertain = 0;
        while (wants_round(active)) {
            reveal_block(engine);
            scan_seconds += watch.lap();
            const std::vector<double> reply = exchange.share(
                {offer_sum(static_cast<int64_t>(active_.size())), offer_sum(uncertain_drops_),
                 offer_kth(bounds(&Row::lower), task_.k), offer_kth(bounds(&Row::certain_lower), task_.k)});
            active = static_cast<int64_t>(reply[0]);
            uncertain = static_cast<int64_t>(reply[1]);
            if (!wants_round(active)) break;
            revealed_ += block_;
            revealed_cells_ += block_ * active;
            answer_.rounds.push_back({active, revealed_, reply[2]});
            drop(reply[2], reply[3]);
            sieve_seconds += watch.lap();
        }
        rescore_shared(engine, exchange, active, uncertain);
        conclude(uncertain == 0);
        answer_.stages = {{"scan", scan_seconds}, {"sieve", sieve_seconds}, {"rescore", watch.lap()}};
        return std::move(answer_);
    }

  private:
    bool wants_round(int64_t active) const { return active > task_.k + knobs_.margin && revealed_ < codes_.tokens; }

    void reveal_block(const Engine& engine) {
        begin_round();
        const std::vector<int64_t> positions = active_positions();
        const ScannedQuery packed(engine, block_rows(), positions);
        scan(engine, positions, packed, [this](const Scanned& scanned) { reveal(scanned, block_, scanned.maxima); });
    }

    // Fills in coverage and guarantee. `certain`: the certain bounds prove every drop.
    void conclude(bool certain) {
        const auto cells = static_cast<double>(total_) * static_cast<double>(codes_.tokens);
        answer_.coverage = cells > 0 ? static_cast<double>(revealed_cells_) / cells : 0.0;
        const bool pac = knobs_.radius == Radius::serfling && knobs_.alpha == 1.0;
        answer_.guarantee = certain ? Guarantee::exact : pac ? Guarantee::pac : Guarantee::none;
    }

    void bound(Row& row, const Document& document, int64_t n) const {
        const auto size = static_cast<double>(n), scale = static_cast<double>(document.scale());
        const double revealed = scale * row.total, open = unrevealed_[static_cast<size_t>(n)];
        const double epsilon = terms_.epsilon(document);
        const double hard_lower = revealed - open, hard_upper = revealed + open;
        row.certain_lower = hard_lower - epsilon;
        row.certain_upper = hard_upper + epsilon;
        const bool paper = knobs_.radius == Radius::paper;
        double radius = kInfinity;
        if (n > 1) {
            const double squares = std::max(row.shifted_squares - row.shifted * row.shifted / size, 0.0);
            radius = factors_.on_sigma * (scale * std::sqrt(squares / static_cast<double>(factors_.degrees)));
            if (!paper) {
                radius = radius + factors_.on_range * (2.0 * (largest_b_ + terms_.cell(document))) + epsilon;
            }
        }
        const double estimate = revealed * (static_cast<double>(codes_.tokens) / size);
        row.lower = std::max(paper ? hard_lower : row.certain_lower, estimate - radius);
        row.upper = std::min(paper ? hard_upper : row.certain_upper, estimate + radius);
        if (n == codes_.tokens) {  // all tokens are revealed: only the error of the proxies is left
            row.lower = row.certain_lower;
            row.upper = row.certain_upper;
        }
        require_finite(estimate);
        require_finite(row.certain_lower);
    }

    // LCB can exceed UCB, by rounding or by a proxy just above b_t. The K best by LCB stay even then.
    static bool stays(const Row& row, double tau) { return row.upper >= tau || row.lower >= tau; }

    void eliminate() {
        const double tau = kth_largest(bounds(&Row::lower), task_.k);
        answer_.rounds.push_back({static_cast<int64_t>(active_.size()), revealed_, tau});
        if (task_.trace != nullptr) trace_round(tau);
        if (std::all_of(active_.begin(), active_.end(), [&](const Row& row) { return stays(row, tau); })) return;
        drop(tau, certain_ ? kth_largest(bounds(&Row::certain_lower), task_.k) : -kInfinity);
        certain_ = uncertain_drops_ == 0;
    }

    // Drops documents that fall below tau, and counts the drops that the certain bounds don't prove.
    void drop(double tau, double certain_tau) {
        for (const Row& row : active_) uncertain_drops_ += !stays(row, tau) && !(row.certain_upper < certain_tau);
        std::erase_if(active_, [&](const Row& row) { return !stays(row, tau); });
    }

    void trace_round(double tau) const {
        Trace& trace = *task_.trace;
        trace.begin_round(static_cast<int64_t>(active_.size()), revealed_, tau);
        for (const Row& row : active_) trace.interval(position_of(row), row.lower, row.upper, stays(row, tau));
        trace.add_bytes("scan", bytes_of_codes(task_.engine.corpus, active_positions()));
    }

    int64_t position_of(const Row& row) const { return query_.candidates[static_cast<size_t>(row.candidate)]; }

    std::vector<double> bounds(double Row::* bound) const {
        std::vector<double> bounds;
        bounds.reserve(active_.size());
        for (const Row& row : active_) bounds.push_back(row.*bound);
        return bounds;
    }

    // Rescores every survivor. If all tokens are revealed, bounds are as tight as those of Certified, and the
    // best-first order may stop early.
    void rescore(const Engine& engine) {
        const std::vector<int64_t> positions = active_positions();
        CertifiedBounds known;
        std::vector<int64_t> order;
        if (revealed_ == codes_.tokens && static_cast<int64_t>(active_.size()) > task_.k) {
            known = {bounds(&Row::certain_lower), bounds(&Row::certain_upper)};
            order = best_first(known, task_.k);
        } else {
            known.upper.assign(positions.size(), kInfinity);
            order.resize(positions.size());
            std::iota(order.begin(), order.end(), 0);
        }
        Rescored rescored = rescore_best_first(engine, query_, task_.k, positions, known, order, task_.trace);
        answer_.hits = std::move(rescored.hits);
        answer_.rescored = rescored.count;
    }

    // The same for the documents that all members have left. If all tokens are revealed, only the exchange here tells
    // how many documents are left, and how many drops were uncertain.
    void rescore_shared(const Engine& engine, Exchange& exchange, int64_t& active, int64_t& uncertain) {
        const std::vector<int64_t> positions = active_positions();
        CertifiedBounds known{{}, std::vector<double>(positions.size(), kInfinity)};
        double kth_upper = -kInfinity;
        if (revealed_ == codes_.tokens) {
            known.upper = bounds(&Row::certain_upper);
            const std::vector<double> reply =
                exchange.share({offer_sum(static_cast<int64_t>(positions.size())), offer_sum(uncertain_drops_),
                                offer_kth(known.upper, task_.k)});
            active = static_cast<int64_t>(reply[0]);
            uncertain = static_cast<int64_t>(reply[1]);
            kth_upper = reply[2];
        }
        Rescored rescored = maxsieve::rescore_shared(engine, query_, task_.k, positions, known, kth_upper, exchange);
        answer_.hits = std::move(rescored.hits);
        answer_.rescored = rescored.count;
    }

    const BanditKnobs& knobs_;
    const Task& task_;
    const Query& query_;
    int64_t total_;
    QueryCodes codes_;
    ErrorTerms terms_;
    std::vector<double> weights_;
    std::vector<int64_t> order_;
    std::vector<double> unrevealed_;  // sum of b_t over the tokens not among the first n of order_
    double largest_b_ = 0.0;
    std::vector<Row> active_;
    bool certain_ = true;
    int64_t revealed_ = 0, revealed_cells_ = 0, uncertain_drops_ = 0;
    // Of the current round: its tokens, their scales, and the factors of the radius.
    int64_t block_ = 0;
    std::vector<double> scale_;
    RadiusFactors factors_{};
    Answer answer_;
};

}  // namespace

size_t Bandit::bytes_kept() const {
    return sizeof(Row);
}

// The first round is one scan for all queries, because every document is active for every query.
std::vector<Answer> Bandit::search(const Task& task) const {
    Stopwatch watch;
    double nu = largest_nu(task.engine.corpus, task.candidates());
    auto total = static_cast<int64_t>(task.candidates().size());
    if (task.exchange != nullptr) {
        const std::vector<double> reply = task.exchange->share({offer_sum(total), offer_max(nu)});
        total = static_cast<int64_t>(reply[0]);
        nu = reply[1];
    }
    std::vector<Sieve> sieves;
    sieves.reserve(task.queries.size());
    for (const Query& query : task.queries) sieves.emplace_back(knobs_, task, query, total, nu);
    if (task.exchange != nullptr) {
        std::vector<Answer> answers;
        answers.push_back(sieves.front().finish_shared(*task.exchange));
        return answers;
    }
    if (std::all_of(sieves.begin(), sieves.end(), [](const Sieve& sieve) { return sieve.wants_round(); })) {
        std::vector<const int8_t*> rows;
        for (Sieve& sieve : sieves) {
            sieve.begin_round();
            const std::vector<const int8_t*> block = sieve.block_rows();
            rows.insert(rows.end(), block.begin(), block.end());
        }
        const ScannedQuery packed(task.engine, rows, task.candidates());
        scan(task.engine, task.candidates(), packed, [&](const Scanned& scanned) {
            const int32_t* maxima = scanned.maxima;
            for (Sieve& sieve : sieves) {
                sieve.reveal(scanned, packed.tokens(), maxima);
                maxima += sieve.block();
            }
        });
    }
    const double share = watch.lap() / static_cast<double>(sieves.size());
    std::vector<Answer> answers(sieves.size());
    task.for_each_query([&](size_t q, const Engine& engine) { answers[q] = sieves[q].finish(engine, share); });
    return answers;
}

}  // namespace maxsieve
