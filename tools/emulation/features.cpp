// Replaces native/kernels/x86/features.cpp: all that is emulated is available.

#include "kernels/x86/features.hpp"

namespace maxsieve {

bool has_avx2() {
    return true;
}

bool has_avxvnni() {
    return true;
}

bool has_avx512vnni() {
    return true;
}

// Its functions are not compiled: kernels have those for older CPUs instead.
bool has_avx512vbmi() {
    return true;
}

bool has_amx() {
    return true;
}

}  // namespace maxsieve
