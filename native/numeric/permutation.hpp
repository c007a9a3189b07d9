// Random numbers from a seed, equal on every machine; spec/arithmetic.py is the definition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace maxsieve {

// The reveal order of Algorithm 1.
std::vector<int64_t> permutation(int64_t tokens, uint64_t seed);

// `wanted` of the numbers below `count`, ascending; all of them if `wanted` is larger.
std::vector<int64_t> sample(int64_t count, int64_t wanted, uint64_t seed);

}  // namespace maxsieve
