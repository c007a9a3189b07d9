// Which kernels for x86 this CPU and operating system run.
#pragma once

namespace maxsieve {

// AVX2, FMA and F16C.
bool has_avx2();

bool has_avxvnni();

// AVX-512 F, BW, VL, DQ and VNNI, and what avx512vnni.cpp is compiled for besides.
bool has_avx512vnni();

// AMX int8. Linux gives its large registers only to a process that asks for them: the first call does, for all threads,
// and a forked child inherits the permission.
bool has_amx();

}  // namespace maxsieve
