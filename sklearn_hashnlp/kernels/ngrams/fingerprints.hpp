// 64-bit fingerprints of n-grams: computed, counted by range, and looked up in a dictionary.
#pragma once

#include <tuple>

#include "../hashes.hpp"
#include "ngram_offsets.hpp"

namespace hashnlp {

constexpr int RANGE_BITS = 12;
constexpr size_t N_RANGES = size_t{1} << RANGE_BITS;

// Return the range of a fingerprint: its upper bits.
inline size_t range_of(uint64_t fingerprint) { return fingerprint >> (64 - RANGE_BITS); }

// Hash all n-grams of every segment to 64 bits; the hash is defined in _fingerprints.py, and the
// arrays are of Units.
inline std::tuple<Buffer<uint64_t>, Buffer<int64_t>> fingerprint_ngrams(
    Vector<const uint8_t> text, Vector<const int64_t> boundaries, Vector<const int64_t> segments,
    Vector<const int64_t> rows, int64_t separator_width, int64_t min_n, int64_t max_n) {
    Buffer<int64_t> offsets = ngram_offsets(segments, rows, min_n, max_n, false);
    Buffer<uint64_t> fingerprints(static_cast<size_t>(offsets[rows.size - 1])),
        words(boundaries.size);
    uint64_t* out = fingerprints.data();
    for (size_t segment = 0; segment + 1 < segments.size; segment++) {
        int64_t first = segments[segment], last = segments[segment + 1] - 1;
        for (int64_t unit = first; unit < last; unit++) {
            auto length =
                static_cast<size_t>(boundaries[unit + 1] - separator_width - boundaries[unit]);
            words[unit] = unit_fingerprint(text.data + boundaries[unit], length);
        }
        for (int64_t start = first; start <= last - min_n; start++) {
            uint64_t state = 0;
            int64_t unit = start, end = start + max_n < last ? start + max_n : last;
            for (; unit < start + min_n - 1; unit++)
                state = extended_fingerprint(state, words[unit]);
            for (; unit < end; unit++) *out++ = state = extended_fingerprint(state, words[unit]);
        }
    }
    return {std::move(fingerprints), std::move(offsets)};
}

// Count the fingerprints of each range.
inline void range_sizes(Vector<const uint64_t> fingerprints, Vector<int64_t> sizes) {
    for (uint64_t fingerprint : fingerprints) sizes[range_of(fingerprint)]++;
}

// Write the fingerprints of the ranges from `first` to before `last`, range by range, from the
// cursors on.
inline void scatter_ranges(Vector<const uint64_t> fingerprints, size_t first, size_t last,
                           Vector<int64_t> cursors, Vector<uint64_t> out) {
    for (uint64_t fingerprint : fingerprints) {
        size_t range = range_of(fingerprint);
        if (range - first < last - first)
            out[cursors[range]++] = fingerprint;  // one below wraps to a large number
    }
}

// Return the distinct values that occur more than `threshold` times, ascending, and their counts.
inline std::tuple<Buffer<uint64_t>, Buffer<int64_t>> count_runs(Vector<const uint64_t> ascending,
                                                                int64_t threshold) {
    auto visit = [&](auto&& add) {
        size_t begin = 0;
        for (size_t i = 1; i <= ascending.size; i++) {
            if (i < ascending.size && ascending[i] == ascending[begin]) continue;
            if (static_cast<int64_t>(i - begin) > threshold) add(begin, i);
            begin = i;
        }
    };
    size_t n_values = 0, at = 0;
    visit([&](size_t, size_t) { n_values++; });
    Buffer<uint64_t> values(n_values);
    Buffer<int64_t> counts(n_values);
    visit([&](size_t begin, size_t end) {
        values[at] = ascending[begin];
        counts[at++] = static_cast<int64_t>(end - begin);
    });
    return {std::move(values), std::move(counts)};
}

constexpr size_t AHEAD =
    16;  // fingerprints between the one that is looked up and the one whose slot is prefetched

// Build the open-addressing hash table of a dictionary, at most half full: the index in each slot,
// or -1.
inline Buffer<int32_t> fingerprint_slots(Vector<const uint64_t> dictionary) {
    size_t n_slots = 2;
    while (n_slots < 2 * dictionary.size) n_slots *= 2;
    Buffer<int32_t> slots(n_slots, -1);
    for (size_t index = 0; index < dictionary.size; index++) {
        if (index + AHEAD < dictionary.size)
            prefetch(slots.data() + (dictionary[index + AHEAD] & (n_slots - 1)));
        size_t slot = dictionary[index] & (n_slots - 1);
        while (slots[slot] >= 0) slot = (slot + 1) & (n_slots - 1);
        slots[slot] = static_cast<int32_t>(index);
    }
    return slots;
}

// Return the dictionary index of a fingerprint, or -1.
inline int32_t find_fingerprint(uint64_t fingerprint, Vector<const uint64_t> dictionary,
                                Vector<const int32_t> slots) {
    size_t mask = slots.size - 1, slot = fingerprint & mask;
    while (slots[slot] >= 0 && dictionary[static_cast<size_t>(slots[slot])] != fingerprint)
        slot = (slot + 1) & mask;
    return slots[slot];
}

// Write the dictionary indices of rows of fingerprints; fingerprints that are not in it are
// dropped.
inline void find_fingerprints(Vector<const uint64_t> fingerprints, Vector<const int64_t> row_ends,
                              Vector<const uint64_t> dictionary, Vector<const int32_t> slots,
                              Buffer<int32_t>& indices, Buffer<int64_t>& offsets) {
    indices.resize(fingerprints.size + 1);
    offsets.resize(row_ends.size);
    size_t mask = slots.size - 1, n_values = 0;
    offsets[0] = 0;
    for (size_t row = 0; row + 1 < row_ends.size; row++) {
        for (auto i = static_cast<size_t>(row_ends[row]);
             i < static_cast<size_t>(row_ends[row + 1]); i++) {
            if (i + 2 * AHEAD < fingerprints.size) {
                prefetch(slots.data + (fingerprints[i + 2 * AHEAD] & mask));
                int32_t candidate = slots[fingerprints[i + AHEAD] & mask];
                prefetch(dictionary.data + (candidate >= 0 ? candidate : 0));
            }
            int32_t index = find_fingerprint(fingerprints[i], dictionary, slots);
            indices[n_values] = index;  // overwritten if it is not in the dictionary
            n_values += index >= 0;
        }
        offsets[row + 1] = static_cast<int64_t>(n_values);
    }
    indices.resize(n_values);
}

// Return the dictionary indices of rows of fingerprints, and their offsets.
inline std::tuple<Buffer<int32_t>, Buffer<int64_t>> found_fingerprints(
    Vector<const uint64_t> fingerprints, Vector<const int64_t> row_ends,
    Vector<const uint64_t> dictionary, Vector<const int32_t> slots) {
    Buffer<int32_t> indices;
    Buffer<int64_t> offsets;
    find_fingerprints(fingerprints, row_ends, dictionary, slots, indices, offsets);
    return {std::move(indices), std::move(offsets)};
}

}  // namespace hashnlp
