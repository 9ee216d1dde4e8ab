// The structure and the magnitudes of a CSR matrix.
#pragma once

#include <bit>
#include <cmath>
#include <tuple>

#include "levels.hpp"
#include "memory.hpp"

namespace hashnlp {

// Return whether the structure of a CSR matrix is valid, and the smallest and the largest magnitude
// of its values, NaN if one is.
template <class Index>
std::tuple<bool, float, float> inspect_rows(Vector<const Index> indices, Vector<const Index> indptr,
                                            Vector<const float> data, int64_t n_columns) {
    return at_best_level([&]() -> std::tuple<bool, float, float> {
        bool valid = indptr[0] == 0;
        for (size_t row = 0; row + 1 < indptr.size;
             row++)  // first, as a wrong offset would read beyond the arrays
            valid &= indptr[row + 1] >= indptr[row];
        auto n_values = static_cast<size_t>(indptr[indptr.size - 1]);
        if (!valid || n_values > indices.size || n_values > data.size)
            return {false, HUGE_VALF, 0.0f};
        Index n_descents = 0;  // within rows; here also from one to the next
        for (size_t at = 1; at < n_values; at++) n_descents += indices[at] <= indices[at - 1];
        for (size_t row = 0; row + 1 < indptr.size; row++) {
            auto start = static_cast<size_t>(indptr[row]),
                 stop = static_cast<size_t>(indptr[row + 1]);
            if (start == stop) continue;
            valid &= indices[start] >= 0;
            valid &= indices[stop - 1] < n_columns;
            if (start > 0) n_descents -= indices[start] <= indices[start - 1];
        }
        valid &= n_descents == 0;
        // As integers, magnitudes have the same order, and those of NaN are above infinity's.
        constexpr int32_t INFINITE = 0x7F800000;
        int32_t smallest = INFINITE, largest = 0;
        for (size_t at = 0; at < n_values; at++) {
            int32_t magnitude = std::bit_cast<int32_t>(data[at]) & 0x7FFFFFFF;
            smallest = magnitude < smallest ? magnitude : smallest;
            largest = magnitude > largest ? magnitude : largest;
        }
        smallest = largest > INFINITE ? largest : smallest;
        return {valid, std::bit_cast<float>(smallest), std::bit_cast<float>(largest)};
    });
}

}  // namespace hashnlp
