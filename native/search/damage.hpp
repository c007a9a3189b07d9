// Numbers that no checked vector can give: the index was damaged later.
#pragma once

#include <cmath>
#include <stdexcept>

namespace maxsieve {

class DamagedData : public std::runtime_error {
  public:
    DamagedData() : std::runtime_error("the index holds numbers that no document has: it is damaged; see verify()") {}
};

// Throws before a NaN can break a sort.
inline void require_finite(double x) {
    if (!std::isfinite(x)) throw DamagedData();
}

}  // namespace maxsieve
