#include "kernels/x86/features.hpp"

#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdint>

namespace maxsieve {
namespace {

// Whether CPUID leaf 7 has AMX-TILE and AMX-INT8, and the operating system saves both parts of the tile state.
bool cpu_has_amx() {
    constexpr unsigned kTile = 1U << 24, kInt8 = 1U << 25, kOsSaves = 1U << 27, kTileState = 3U << 17;
    unsigned a, b, c, d;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kTile) == 0 || (d & kInt8) == 0) return false;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kOsSaves) == 0) return false;
    uint32_t low, high;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & kTileState) == kTileState;
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

// __builtin_cpu_supports knows of the operating system, too: it calls nothing of AVX or AVX-512 supported whose
// registers aren't saved.
bool has_avx2() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}

bool has_avxvnni() {
    return __builtin_cpu_supports("avxvnni");
}

bool has_avx512vnni() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vnni") && has_avx2();
}

bool has_amx() {
    static const bool permitted = cpu_has_amx() && tiles_permitted();
    return permitted;
}

}  // namespace maxsieve
