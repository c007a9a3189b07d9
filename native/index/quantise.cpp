#include "index/quantise.hpp"

#include <algorithm>
#include <atomic>

#include "kernels/table.hpp"
#include "numeric/rounding.hpp"

namespace maxsieve {

int64_t quantise(const float* rows, const int64_t* offsets, int64_t documents, int64_t d, const QuantisedDocuments& out,
                 Crew& crew) {
    constexpr int64_t kGrain = 16;
    const Kernel& kernel = current_kernel();
    const int64_t stride = code_stride(d);
    std::atomic<int64_t> first_bad{documents};
    crew.run((documents + kGrain - 1) / kGrain, [&](int64_t task, int) {
        for (int64_t i = task * kGrain; i < std::min((task + 1) * kGrain, documents); ++i) {
            DocumentSquares squares{};
            const int64_t first = offsets[i];
            if (!kernel.quantise(rows + first * d, offsets[i + 1] - first, d, stride, out.codes + first * stride,
                                 &squares)) {
                int64_t known = first_bad.load();
                while (i < known && !first_bad.compare_exchange_weak(known, i)) {
                }
            }
            out.scale[i] = squares.scale;
            out.rho[i] = up32(norm_up(squares.residual, d));
            out.nu[i] = up32(norm_up(squares.norm, d));
        }
    });
    const int64_t bad = first_bad.load();
    return bad == documents ? -1 : bad;
}

}  // namespace maxsieve
