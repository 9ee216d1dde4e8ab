// Products of sparse and dense matrices, and hashes of pairs of words.
#pragma once

#include "hashes.hpp"
#include "levels.hpp"
#include "weighted_rows.hpp"

namespace hashnlp {

// Add the product of a CSR matrix and a dense one to `out`; each row is a sum in the order of its
// entries.
template <class Index>
void add_product(Vector<const Index> indptr, Vector<const Index> indices,
                 Vector<const float> values, Matrix<const float> dense, Matrix<float> out) {
    at_best_level([&] {
        for (size_t row = 0; row + 1 < indptr.size; row++)
            for (auto at = static_cast<size_t>(indptr[row]);
                 at < static_cast<size_t>(indptr[row + 1]); at++)
                add_scaled(out[row], values[at], dense[static_cast<size_t>(indices[at])],
                           out.columns);
    });
}

// Return the fingerprints of the pairs of neighboring words of each row, given those of words, and
// the rows' offsets.
template <class Id>
std::tuple<Buffer<uint64_t>, Buffer<int64_t>> pair_fingerprints(Vector<const uint64_t> words,
                                                                Vector<const Id> ids,
                                                                Vector<const int64_t> offsets) {
    Buffer<uint64_t> pairs(ids.size);
    Buffer<int64_t> ends(offsets.size);
    size_t n_pairs = 0;
    ends[0] = 0;
    for (size_t row = 0; row + 1 < offsets.size; row++) {
        for (int64_t i = offsets[row]; i + 1 < offsets[row + 1]; i++)
            pairs[n_pairs++] = pair_fingerprint(words[ids[i]], words[ids[i + 1]]);
        ends[row + 1] = static_cast<int64_t>(n_pairs);
    }
    pairs.resize(n_pairs);
    return {std::move(pairs), std::move(ends)};
}

}  // namespace hashnlp
