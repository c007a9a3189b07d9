// The only features that we use beyond the C++ standard. GCC has them, and so has every Clang: also Apple's, and
// clang-cl on Windows.
#pragma once

#if !defined(__GNUC__) && !defined(__clang__)
#error "maxsieve is compiled by GCC or Clang; on Windows by clang-cl"
#endif

// In a typedef: a vector of so many bytes. Its operators work on each number.
#define MAXSIEVE_VECTOR(bytes) __attribute__((vector_size(bytes)))

// Before a loop: unrolls it completely. The compiler must know its length, which is at most 16.
#if defined(__clang__)
#define MAXSIEVE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define MAXSIEVE_UNROLL _Pragma("GCC unroll 16")
#endif

// Converts each number of a vector to another type.
#define MAXSIEVE_CONVERT(vector, type) __builtin_convertvector(vector, type)

// Reads the cache line of an address ahead. Any address is allowed, valid or not. It is no __builtin_prefetch: GCC
// leaves out calls of functions that do nothing else.
#if defined(__x86_64__)
#define MAXSIEVE_PREFETCH(address) asm volatile("prefetcht0 (%0)" : : "r"(address))
#elif defined(__aarch64__)
#define MAXSIEVE_PREFETCH(address) asm volatile("prfm pldl1keep, [%0]" : : "r"(address))
#else
#define MAXSIEVE_PREFETCH(address) __builtin_prefetch(address)
#endif

// Forces a variable into a vector register.
#if defined(__aarch64__)
#define MAXSIEVE_IN_REGISTER(variable) asm("" : "+w"(variable))
#elif defined(__AVX512F__)
#define MAXSIEVE_IN_REGISTER(variable) asm("" : "+v"(variable))
#else
#define MAXSIEVE_IN_REGISTER(variable) asm("" : "+x"(variable))
#endif

// The compiler moves no reads and writes of memory past this line.
#define MAXSIEVE_MEMORY_BARRIER() asm volatile("" ::: "memory")
