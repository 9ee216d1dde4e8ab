// Where the n-grams of each row begin; see `Units` in _units.py for the layout of rows and
// segments.
#pragma once

#include "../memory.hpp"

namespace hashnlp {

// Return the number of n-grams of a segment of some units.
inline int64_t count_of_ngrams(int64_t n_units, int64_t min_n, int64_t max_n, bool short_whole) {
    int64_t longest = max_n < n_units ? max_n : n_units;
    if (longest >= min_n)  // a sum over n of n_units - n + 1
        return (longest - min_n + 1) * (2 * n_units - min_n - longest + 2) / 2;
    return short_whole && n_units > 0 ? 1 : 0;
}

// Set the start of the n-grams of each row, and the end.
template <class Index>
inline void ngram_offsets(Vector<const Index> segments, Vector<const Index> rows, int64_t min_n,
                          int64_t max_n, bool short_whole, Buffer<int64_t>& offsets) {
    offsets.resize(rows.size);
    int64_t size = 0;
    for (size_t row = 0; row + 1 < rows.size; row++) {
        offsets[row] = size;
        for (auto segment = static_cast<size_t>(rows[row]);
             segment < static_cast<size_t>(rows[row + 1]); segment++) {
            int64_t n_units = static_cast<int64_t>(segments[segment + 1]) -
                              static_cast<int64_t>(segments[segment]) - 1;
            size += count_of_ngrams(n_units, min_n, max_n, short_whole);
        }
    }
    offsets[rows.size - 1] = size;
}

// Return the start of the n-grams of each row, and the end.
template <class Index>
inline Buffer<int64_t> ngram_offsets(Vector<const Index> segments, Vector<const Index> rows,
                                     int64_t min_n, int64_t max_n, bool short_whole) {
    Buffer<int64_t> offsets;
    ngram_offsets(segments, rows, min_n, max_n, short_whole, offsets);
    return offsets;
}

}  // namespace hashnlp
