// Numbers that can't come from vectors that were checked on their way in: the index has been damaged since.
#pragma once

#include <cmath>
#include <stdexcept>

namespace maxsieve {

class DamagedData : public std::runtime_error {
  public:
    DamagedData() : std::runtime_error("the index holds numbers that no document has: it is damaged; see verify()") {}
};

// Throws before a NaN could upset an ordering.
inline void require_finite(double x) {
    if (!std::isfinite(x)) throw DamagedData();
}

}  // namespace maxsieve
