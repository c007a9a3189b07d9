// Optional features of an AArch64 CPU. Programs can't ask the CPU, only the operating system.
#pragma once

#include <cstddef>

#if defined(__linux__)
#include <sys/auxv.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace maxsieve {

// `sdot` and `udot`.
inline bool has_dot_product() {
#if defined(__linux__)
    return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#elif defined(__APPLE__)
    int value = 0;
    size_t size = sizeof value;
    return sysctlbyname("hw.optional.arm.FEAT_DotProd", &value, &size, nullptr, 0) == 0 && value != 0;
#else
    return false;
#endif
}

}  // namespace maxsieve
