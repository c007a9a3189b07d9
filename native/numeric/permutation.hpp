// The reveal order of Algorithm 1; spec/arithmetic.py's `permutation` is its definition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace maxsieve {

std::vector<int64_t> permutation(int64_t tokens, uint64_t seed);

}  // namespace maxsieve
