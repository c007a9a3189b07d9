// All that is asked of the compiler beyond the C++ standard. GCC has it, and Clang under all its names: Apple's, and
// clang-cl on Windows.
#pragma once

#if !defined(__GNUC__) && !defined(__clang__)
#error "maxsieve is compiled by GCC or Clang; on Windows by clang-cl"
#endif

// In a typedef: a vector of that many bytes, with operators for each of its numbers.
#define MAXSIEVE_VECTOR(bytes) __attribute__((vector_size(bytes)))

// Before a loop of a length known to the compiler, at most 16: it becomes straight code.
#if defined(__clang__)
#define MAXSIEVE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define MAXSIEVE_UNROLL _Pragma("GCC unroll 16")
#endif

// The numbers of a vector in another type.
#define MAXSIEVE_CONVERT(vector, type) __builtin_convertvector(vector, type)

// The cache line at an address, which need not be one's own, is read ahead.
#define MAXSIEVE_PREFETCH(address) __builtin_prefetch(address)

// Here a variable is in a vector register of x86, whatever the compiler would like to do with it.
#define MAXSIEVE_IN_REGISTER(variable) asm("" : "+x"(variable))

// Memory is read and written before and after, in that order.
#define MAXSIEVE_MEMORY_BARRIER() asm volatile("" ::: "memory")
