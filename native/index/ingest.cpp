#include "index/ingest.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "index/normalise.hpp"
#include "kernels/table.hpp"
#include "numeric/halves.hpp"
#include "numeric/rounding.hpp"
#include "threads/crew.hpp"

namespace maxsieve {
namespace {

// Float32 rows of a task: large enough that its overhead is small, small enough to balance the threads.
constexpr int64_t kTaskBytes = 256 << 10;

// The first document of each task, and the end.
std::vector<int64_t> cut_into_tasks(const NewSegment& segment) {
    const int64_t tokens = std::max<int64_t>(1, kTaskBytes / (4 * segment.d));
    std::vector<int64_t> starts{0};
    for (int64_t i = 1; i < segment.documents; ++i) {
        const int64_t start = starts.back();
        // A document without rows has a cost, too.
        if (segment.offsets[i] - segment.offsets[start] + (i - start) >= tokens) starts.push_back(i);
    }
    if (segment.documents > 0) starts.push_back(segment.documents);
    return starts;
}

int64_t longest_document(const NewSegment& segment) {
    int64_t longest = 0;
    for (int64_t i = 0; i < segment.documents; ++i) {
        longest = std::max(longest, segment.offsets[i + 1] - segment.offsets[i]);
    }
    return longest;
}

class Ingest {
  public:
    Ingest(const InputRows& input, bool cosine, const Rotation* rotation, const NewSegment& out, int workers)
        : input_(input), cosine_(cosine), rotation_(rotation), out_(out), scratch_(static_cast<size_t>(workers)) {
        if (out.stored != Stored::float32) scratch_numbers_ = static_cast<size_t>(longest_document(out) * out.d);
    }

    // Returns false if document i has a bad value.
    bool take(int64_t i, int worker) {
        const int64_t first = out_.offsets[i], length = out_.offsets[i + 1] - first, numbers = length * out_.d;
        float* rows =
            out_.stored == Stored::float32 ? static_cast<float*>(out_.rows) + first * out_.d : scratch(worker);
        input_.read(first, length, kernel_, rows);
        if ((cosine_ || rotation_ != nullptr) && first_invalid_row(kernel_, rows, length, out_.d) >= 0) return false;
        if (cosine_) normalise(rows, length, out_.d);
        if (rotation_ != nullptr) rotation_->forwards(rows, length);
        if (out_.stored == Stored::float16) {
            uint16_t* stored = static_cast<uint16_t*>(out_.rows) + first * out_.d;
            narrow(rows, numbers, stored);
            kernel_.widen(stored, numbers, rows);
        }
        DocumentSquares squares{};
        int8_t* codes = out_.codes + first * stride_;
        if (!kernel_.quantise(rows, length, out_.d, stride_, codes, &squares)) return false;
        if (out_.stored == Stored::int8) squares = as_stored(codes, length, squares.scale);
        out_.scale[i] = squares.scale;
        out_.rho[i] = up32(norm_up(squares.residual, out_.d));
        out_.nu[i] = up32(norm_up(squares.norm, out_.d));
        return true;
    }

  private:
    // For a document whose vectors are its codes times its scale: the residual is zero, and the norms are those of the
    // codes. The scale is rounded to 17 bits, so that its products with 7-bit codes are exact in float32.
    DocumentSquares as_stored(const int8_t* codes, int64_t length, float scale) const {
        DocumentSquares squares{to_17_bits(scale), 0.0, 0.0};
        for (int64_t j = 0; j < length; ++j) {
            squares.norm = std::max(squares.norm, scaled_square(codes + j * stride_, stride_, squares.scale));
        }
        return squares;
    }

    // Memory for the float32 form of one document that is stored in another form.
    float* scratch(int worker) {
        auto& mine = scratch_[static_cast<size_t>(worker)];
        if (!mine) mine = std::make_unique_for_overwrite<float[]>(scratch_numbers_);
        return mine.get();
    }

    const InputRows& input_;
    const bool cosine_;
    const Rotation* rotation_;
    const NewSegment& out_;
    const Kernel& kernel_ = current_kernel();
    const int64_t stride_ = code_stride(out_.d);
    size_t scratch_numbers_ = 0;
    std::vector<std::unique_ptr<float[]>> scratch_;
};

}  // namespace

int64_t ingest(const InputRows& input, bool cosine, const Rotation* rotation, const NewSegment& out, int threads,
               Interrupt& interrupt) {
    const std::vector<int64_t> starts = cut_into_tasks(out);
    const auto tasks = static_cast<int64_t>(starts.size()) - 1;
    Crew crew(static_cast<int>(std::clamp<int64_t>(tasks, 1, threads)), interrupt);
    Ingest documents(input, cosine, rotation, out, crew.size());
    std::atomic<int64_t> first_bad{out.documents};
    crew.run(tasks, [&](int64_t task, int worker) {
        for (int64_t i = starts[static_cast<size_t>(task)]; i < starts[static_cast<size_t>(task) + 1]; ++i) {
            if (documents.take(i, worker)) continue;
            int64_t known = first_bad.load();
            while (i < known && !first_bad.compare_exchange_weak(known, i)) {
            }
            return;
        }
    });
    const int64_t bad = first_bad.load();
    return bad == out.documents ? -1 : bad;
}

}  // namespace maxsieve
