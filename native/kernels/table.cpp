#include "kernels/table.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <stdexcept>

#if defined(__x86_64__)
#include "kernels/x86/features.hpp"
#elif defined(__aarch64__)
#include "kernels/arm_features.hpp"
#endif

namespace maxsieve {
namespace {

struct Entry {
    const Kernel* kernel;
    // Runs on any CPU. It checks CPUID, and which registers the operating system saves at a thread switch.
    bool (*available)();
};

constexpr Entry kBestFirst[] = {
#if defined(__x86_64__)
    {&kAmx, [] { return has_avx512vnni() && has_avx512vbmi() && has_amx(); }},
    // These two have the same name, and so have the next two. A machine has exactly one of them.
    {&kAvx512vbmi, [] { return has_avx512vnni() && has_avx512vbmi(); }},
    {&kAvx512vnni, [] { return has_avx512vnni() && !has_avx512vbmi(); }},
    {&kAvxVnni, [] { return has_avx2() && has_avxvnni(); }},
    {&kAvx2, [] { return has_avx2() && !has_avxvnni(); }},
#elif defined(__aarch64__)
    // These two have the same name. A machine has exactly one of them.
    {&kNeonDotprod, has_dot_product},
    {&kNeon, [] { return !has_dot_product(); }},
#endif
    {&kScalar, [] { return true; }},
};
// Names of kernels for other architectures are known, too. If such a name is asked for, the error says that it can't
// run here, not that it is unknown.
constexpr std::array kKnown{"amx", "avx512vnni", "avx2", "neon", "scalar"};

std::atomic<const Kernel*> chosen{nullptr};

std::string listed(const std::vector<const Kernel*>& kernels) {
    std::string names;
    for (const Kernel* kernel : kernels) names += (names.empty() ? "" : ", ") + std::string(kernel->name);
    return names;
}

const Kernel& by_name(const std::string& name, const std::string& asked_by) {
    // Other kernels are not checked: the check for AMX changes the process (docs/performance.md).
    for (const Entry& entry : kBestFirst) {
        if (name == entry.kernel->name && entry.available()) return *entry.kernel;
    }
#if defined(__x86_64__)
    // For tests and measurements on a machine that has more: not listed, and reports don't say "plain".
    if (name == "avx512vnni-plain" && has_avx512vnni()) return kAvx512vnni;
    if (name == "avx2-plain" && has_avx2()) return kAvx2;
#endif
    bool known = false;
    for (const char* candidate : kKnown) known = known || name == candidate;
    throw std::invalid_argument(asked_by + " asks for the ISA '" + name + "', which " +
                                (known ? "this machine or build can't run" : "maxsieve does not know") +
                                "; available here: " + listed(available_kernels()));
}

const Kernel& at_start() {
    const char* forced = std::getenv("MAXSIEVE_ISA");
    if (forced != nullptr && *forced != '\0') return by_name(forced, "MAXSIEVE_ISA");
    return *available_kernels().front();
}

}  // namespace

std::vector<const Kernel*> available_kernels() {
    std::vector<const Kernel*> kernels;
    for (const Entry& entry : kBestFirst) {
        if (entry.available()) kernels.push_back(entry.kernel);
    }
    return kernels;
}

const Kernel& current_kernel() {
    const Kernel* kernel = chosen.load(std::memory_order_acquire);
    if (kernel == nullptr) {
        kernel = &at_start();
        chosen.store(kernel, std::memory_order_release);
    }
    return *kernel;
}

void use_kernel(const std::string& name) {
    chosen.store(name.empty() ? nullptr : &by_name(name, "use_isa"), std::memory_order_release);
}

}  // namespace maxsieve
