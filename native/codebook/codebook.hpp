// A codebook, of tier 0 or of lists: centroids in groups; spec/codebook.py is the definition. A view: nothing here is
// owned.
#pragma once

#include <cstdint>

namespace maxsieve {

struct Codebook {
    // The most centroids of any codebook, and of one whose centroids are named by two bytes.
    static constexpr int64_t kMostCentroids = int64_t{1} << 20;
    static constexpr int64_t kMostOfTier0 = 65536;

    int64_t d, groups, centroids;  // centroids: a power of two
    const int8_t* heads;           // [groups][code_stride(d)]
    const int64_t* starts;         // groups + 1 of them: the first centroid of each group, and the end
    const int8_t* codes;           // [centroids][code_stride(d)]
    float scale;                   // scale * codes[c] has about unit length
    const float* length;           // [centroids], the mean length of a centroid's tokens
    float longest;                 // the largest of these lengths
};

}  // namespace maxsieve
