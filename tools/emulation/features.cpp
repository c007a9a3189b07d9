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

bool has_amx() {
    return true;
}

}  // namespace maxsieve
