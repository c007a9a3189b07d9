// Which x86 kernels this CPU and operating system can run.
#pragma once

namespace maxsieve {

// AVX2, FMA and F16C.
bool has_avx2();

bool has_avxvnni();

// AVX-512 F, BW, VL, DQ and VNNI, and the other extensions that avx512vnni.cpp is compiled for.
bool has_avx512vnni();

bool has_avx512vbmi();

// AMX int8. On Linux a process must ask for its large registers. The first call asks for all threads. A forked child
// inherits the permission.
bool has_amx();

}  // namespace maxsieve
