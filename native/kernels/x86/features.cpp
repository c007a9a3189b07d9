// Reads CPUID directly. The functions that compilers offer differ by compiler and system. On Windows they need a
// library of Clang that is not linked.
#include "kernels/x86/features.hpp"

#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdint>

namespace maxsieve {
namespace {

// The registers that the operating system saves at a thread switch, as bits of XCR0.
constexpr uint32_t kAvxState = 0x6, kAvx512State = 0xE6, kTileState = 3U << 17;

struct Features {
    uint32_t leaf1_ecx = 0, leaf7_ebx = 0, leaf7_ecx = 0, leaf7_edx = 0, leaf7_1_eax = 0, saved = 0;

    Features() {
        constexpr uint32_t kOsSaves = 1U << 27;
        uint32_t a, b, c, d;
        if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kOsSaves) == 0) return;
        leaf1_ecx = c;
        uint32_t low, high;
        asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        saved = low;
#if defined(__APPLE__)
        // macOS reports that it saves the AVX-512 registers only after a thread has used one.
        if ((saved & kAvxState) == kAvxState) saved |= kAvx512State;
#endif
        if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return;
        leaf7_ebx = b, leaf7_ecx = c, leaf7_edx = d;
        if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) leaf7_1_eax = a;
    }

    bool saves(uint32_t state) const { return (saved & state) == state; }
};

const Features& features() {
    static const Features found;
    return found;
}

bool has_bits(uint32_t word, uint32_t bits) {
    return (word & bits) == bits;
}

bool tiles_permitted() {
#if defined(__linux__)
    constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
    return false;
#endif
}

}  // namespace

bool has_avx2() {
    constexpr uint32_t kFma = 1U << 12, kAvx = 1U << 28, kF16c = 1U << 29, kAvx2Bit = 1U << 5;
    return features().saves(kAvxState) && has_bits(features().leaf1_ecx, kFma | kAvx | kF16c) &&
           has_bits(features().leaf7_ebx, kAvx2Bit);
}

bool has_avxvnni() {
    constexpr uint32_t kVnni = 1U << 4;
    return features().saves(kAvxState) && has_bits(features().leaf7_1_eax, kVnni);
}

bool has_avx512vnni() {
    constexpr uint32_t kF = 1U << 16, kDq = 1U << 17, kBw = 1U << 30, kVl = 1U << 31, kVnni = 1U << 11;
    return has_avx2() && features().saves(kAvx512State) && has_bits(features().leaf7_ebx, kF | kDq | kBw | kVl) &&
           has_bits(features().leaf7_ecx, kVnni);
}

bool has_avx512vbmi() {
    constexpr uint32_t kVbmi = 1U << 1;
    return features().saves(kAvx512State) && has_bits(features().leaf7_ecx, kVbmi);
}

bool has_amx() {
    constexpr uint32_t kTile = 1U << 24, kInt8 = 1U << 25;
    static const bool permitted =
        features().saves(kTileState) && has_bits(features().leaf7_edx, kTile | kInt8) && tiles_permitted();
    return permitted;
}

}  // namespace maxsieve
