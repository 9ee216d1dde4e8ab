// n-grams and skip-grams, hashed by MurmurHash3.
#pragma once

#include "../hashes.hpp"
#include "../memory.hpp"
#include "ngram_offsets.hpp"

namespace hashnlp {

// What n-grams are made of; see `Units` in _units.py.
template <class Index>
struct UnitsView {
    Vector<const uint8_t> text;
    Vector<const Index> boundaries, segments, rows;
    size_t separator_width;  // bytes between two units

    size_t boundary(size_t i) const { return static_cast<size_t>(boundaries[i]); }
};

struct NgramRange {
    size_t min_n, max_n;
    bool short_whole;  // whether a segment below min_n is one n-gram
};

// Memory of the hash functions, and their result.
struct NgramHashes {
    Buffer<int32_t> hashes;   // of each n-gram, and some more
    Buffer<int64_t> offsets;  // (n_rows + 1,)
    Buffer<int32_t> words, pairs, window;
    Buffer<uint32_t> blocks, states;
};

constexpr uint32_t SEED = 0;
constexpr size_t MIN_VECTOR_UNITS = 16, MAX_VECTOR_UNITS = 1024;
constexpr size_t MAX_SHORT_UNITS =
    64;  // of segments whose n-grams are hashed together; some are not used
constexpr size_t MAX_ORDERS = 8;  // values of n for which they are
constexpr size_t N_COPIED = 16;   // numbers that are copied at once
constexpr size_t WINDOW = 128;    // words that are hashed at once
constexpr size_t MAX_BLOCKS =
    6;  // of four bytes, of words and pairs of words that are hashed together

// Copy whole vectors, without a branch for most lengths; the caller overwrites the excess.
inline void copy_hashes(const int32_t* hashes, size_t n, int32_t* to) {
    std::memcpy(to, hashes, N_COPIED * sizeof(int32_t));
    for (size_t i = N_COPIED; i < n; i += N_COPIED)
        std::memcpy(to + i, hashes + i, N_COPIED * sizeof(int32_t));
}

// Hash many n-grams in one loop without branches: each hash continues from the state after its own
// blocks.
inline void hash_blocks(const uint32_t (*blocks)[WINDOW], const int32_t* lengths, size_t n,
                        int32_t* __restrict hashes) {
    const uint32_t *b_0 = blocks[0], *b_1 = blocks[1], *b_2 = blocks[2], *b_3 = blocks[3],
                   *b_4 = blocks[4], *b_5 = blocks[5];
    for (size_t i = 0; i < n; i++) {
        auto length = static_cast<uint32_t>(lengths[i]);
        uint32_t n_blocks = length >> 2, v_0 = b_0[i], v_1 = b_1[i], v_2 = b_2[i], v_3 = b_3[i],
                 v_4 = b_4[i], v_5 = b_5[i];
        uint32_t next = mix_block(SEED, v_0), state = n_blocks > 0 ? next : SEED,
                 tail = n_blocks > 0 ? v_1 : v_0;
        next = mix_block(next, v_1), state = n_blocks > 1 ? next : state,
        tail = n_blocks > 1 ? v_2 : tail;
        next = mix_block(next, v_2), state = n_blocks > 2 ? next : state,
        tail = n_blocks > 2 ? v_3 : tail;
        next = mix_block(next, v_3), state = n_blocks > 3 ? next : state,
        tail = n_blocks > 3 ? v_4 : tail;
        next = mix_block(next, v_4), state = n_blocks > 4 ? next : state,
        tail = n_blocks > 4 ? v_5 : tail;
        hashes[i] = finish(state, tail, length);
    }
}

// Hash the n-grams of `order` words that start at each boundary; those that span two segments are
// of no use.
template <class Index>
inline void hash_starts(const UnitsView<Index>& units, size_t first, size_t n, size_t order,
                        const uint32_t (*blocks)[WINDOW], int32_t* hashes) {
    constexpr int64_t LONGEST = INT32_MAX;
    alignas(64) int32_t lengths[WINDOW];
    size_t last = units.boundaries.size - 1,
           n_inside = first + n + order - 1 <= last ? n : last - first - (order - 1);
    int32_t longest = 0;
    for (size_t i = 0; i < n; i++) {
        size_t stop = i < n_inside ? first + i + order : last;
        int64_t length = static_cast<int64_t>(units.boundaries[stop]) -
                         static_cast<int64_t>(units.boundaries[first + i]) - 1;
        lengths[i] = static_cast<int32_t>(length < LONGEST ? length : LONGEST);
        longest = lengths[i] > longest ? lengths[i] : longest;
    }
    hash_blocks(blocks, lengths, n, hashes);
    if (longest < static_cast<int32_t>(4 * MAX_BLOCKS)) return;
    for (size_t i = 0; i < n_inside; i++) {
        size_t begin = units.boundary(first + i);
        if (lengths[i] >= static_cast<int32_t>(4 * MAX_BLOCKS))
            hashes[i] = murmur3(units.text.data + begin,
                                units.boundary(first + i + order) - 1 - begin, SEED);
    }
}

// Hash words, pairs of words or both, of all segments in one loop without branches.
template <class Index>
inline void hash_words_and_pairs(const UnitsView<Index>& units, const NgramRange& range,
                                 NgramHashes& out) {
    size_t n_starts = units.boundaries.size > 0 ? units.boundaries.size - 1 : 0;
    int32_t* words = out.words.resize(n_starts + WINDOW);
    int32_t* pairs = out.pairs.resize(n_starts + WINDOW);
    alignas(64) uint32_t blocks[MAX_BLOCKS][WINDOW];
    for (size_t first = 0; first < n_starts; first += WINDOW) {
        size_t n = n_starts - first < WINDOW ? n_starts - first : WINDOW;
        for (size_t i = 0; i < n; i++) {
            const uint8_t* word = units.text.data + units.boundary(first + i);
            for (size_t block = 0; block < MAX_BLOCKS; block++)
                blocks[block][i] = load_uint32(word + 4 * block);
        }
        if (range.min_n == 1) hash_starts(units, first, n, 1, blocks, words + first);
        if (range.max_n == 2) hash_starts(units, first, n, 2, blocks, pairs + first);
    }
    int32_t* hashes = out.hashes.data();
    for (size_t segment = 0; segment + 1 < units.segments.size; segment++) {
        auto start = static_cast<size_t>(units.segments[segment]);
        size_t n_words = static_cast<size_t>(units.segments[segment + 1]) - start - 1;
        for (size_t n = range.min_n; n <= range.max_n; n++) {
            size_t n_ngrams = n_words >= n ? n_words - n + 1 : 0;
            copy_hashes((n == 1 ? words : pairs) + start, n_ngrams, hashes);
            hashes += n_ngrams;
        }
    }
}

// Set blocks[i] to the four bytes that start at position i, and all states to the state of an empty
// n-gram.
inline void load_blocks(const uint8_t* text, size_t n_blocks, size_t n_starts,
                        uint32_t* __restrict blocks, uint32_t* __restrict states) {
    for (size_t i = 0; i < n_blocks; i++) blocks[i] = load_uint32(text + i);
    for (size_t i = 0; i < n_starts; i++) states[i] = SEED;
}

// Continue the states of n-grams of n bytes with their last four, if n is a multiple of four.
inline void mix_blocks(size_t n, size_t n_ngrams, const uint32_t* __restrict blocks,
                       uint32_t* __restrict states) {
    if (n % 4 != 0) return;
    const uint32_t* last = blocks + n - 4;
    for (size_t i = 0; i < n_ngrams; i++) states[i] = mix_block(states[i], last[i]);
}

inline void finish_hashes(size_t n, size_t n_ngrams, const uint32_t* __restrict blocks,
                          const uint32_t* __restrict states, int32_t* __restrict hashes) {
    const uint32_t* tail = blocks + (n & ~size_t{3});
    for (size_t i = 0; i < n_ngrams; i++)
        hashes[i] = finish(states[i], tail[i], static_cast<uint32_t>(n));
}

// Hash the n-grams of segments of single bytes that follow each other: first of all their bytes,
// then choose.
template <class Index>
inline int32_t* hash_short_segments(const UnitsView<Index>& units, size_t segment, size_t end,
                                    const NgramRange& range, NgramHashes& out, int32_t* hashes) {
    const Index* segments = units.segments.data;
    size_t begin = units.boundary(static_cast<size_t>(segments[segment]));
    size_t n_bytes = units.boundary(static_cast<size_t>(segments[end]) - 1) - begin;
    size_t max_n =
        range.max_n < MAX_SHORT_UNITS ? range.max_n : MAX_SHORT_UNITS;  // no segment is longer
    size_t stride = MAX_VECTOR_UNITS + N_COPIED, readable = units.text.size - begin - 3;
    int32_t* window = out.window.data();
    uint32_t *blocks = out.blocks.data(), *states = out.states.data();
    // The n bytes from each position on, for each n. Blocks after the text may have any value, as
    // their n-grams are not used.
    load_blocks(units.text.data + begin, n_bytes + max_n < readable ? n_bytes + max_n : readable,
                n_bytes, blocks, states);
    for (size_t n = 1; n <= max_n; n++) {
        mix_blocks(n, n_bytes, blocks, states);
        if (n >= range.min_n)
            finish_hashes(n, n_bytes, blocks, states, window + (n - range.min_n) * stride);
    }
    for (; segment < end; segment++) {
        auto first = static_cast<size_t>(segments[segment]);
        size_t n_units = static_cast<size_t>(segments[segment + 1]) - first - 1,
               start = units.boundary(first);
        for (size_t n = range.min_n; n <= range.max_n; n++) {
            size_t n_ngrams = n_units >= n ? n_units - n + 1 : 0;
            copy_hashes(window + (n - range.min_n) * stride + (start - begin), n_ngrams, hashes);
            hashes += n_ngrams;
        }
        if (range.short_whole && n_units > 0 && n_units < range.min_n)
            *hashes++ = murmur3(units.text.data + start, n_units, SEED);
    }
    return hashes;
}

// Hash the n-grams of any one segment.
template <class Index>
inline int32_t* hash_segment(const UnitsView<Index>& units, size_t first, size_t n_units,
                             size_t min_n, size_t max_n, int32_t* hashes) {
    for (size_t start = first; start + min_n <= first + n_units; start++) {
        size_t begin = units.boundary(start), position = begin;
        size_t last = start + max_n < first + n_units ? start + max_n : first + n_units;
        uint32_t state = SEED;
        // A longer n-gram starts with the shorter one: its hash continues from the same state.
        for (size_t end = start + min_n; end <= last; end++) {
            size_t stop = units.boundary(end) - units.separator_width;
            for (; position + 4 <= stop; position += 4)
                state = mix_block(state, load_uint32(units.text.data + position));
            *hashes++ = finish(state, load_uint32(units.text.data + position),
                               static_cast<uint32_t>(stop - begin));
        }
    }
    return hashes;
}

// Hash the n-grams of a long segment of single bytes, one n at a time, in loops of vector
// instructions.
inline int32_t* hash_single_bytes(const uint8_t* text, size_t n_units, size_t min_n, size_t max_n,
                                  NgramHashes& out, int32_t* hashes) {
    uint32_t *blocks = out.blocks.data(), *states = out.states.data();
    for (size_t first = 0; first + min_n <= n_units; first += MAX_VECTOR_UNITS) {
        size_t left = n_units - first, n_starts = left < MAX_VECTOR_UNITS ? left : MAX_VECTOR_UNITS;
        load_blocks(text + first, n_starts + max_n < left + 1 ? n_starts + max_n : left + 1,
                    n_starts, blocks, states);
        for (size_t n = 1; n <= max_n; n++) {
            size_t n_whole = left >= n ? left - n + 1 : 0,
                   n_ngrams = n_whole < n_starts ? n_whole : n_starts;
            mix_blocks(n, n_ngrams, blocks, states);
            if (n < min_n) continue;
            finish_hashes(n, n_ngrams, blocks, states, hashes);
            hashes += n_ngrams;
        }
    }
    return hashes;
}

template <class Index>
inline void hash_segments(const UnitsView<Index>& units, const NgramRange& range,
                          NgramHashes& out) {
    const size_t min_n = range.min_n, max_n = range.max_n, n_segments = units.segments.size - 1;
    const bool few_orders = max_n - min_n < MAX_ORDERS;
    out.blocks.resize(MAX_VECTOR_UNITS + max_n + 1);
    out.states.resize(MAX_VECTOR_UNITS);
    out.window.resize((few_orders ? max_n - min_n + 1 : 1) * (MAX_VECTOR_UNITS + N_COPIED));
    int32_t* hashes = out.hashes.data();
    auto first_of = [&](size_t segment) { return static_cast<size_t>(units.segments[segment]); };
    auto end_of = [&](size_t segment) { return units.boundary(first_of(segment + 1) - 1); };
    auto n_units_of = [&](size_t segment) { return first_of(segment + 1) - first_of(segment) - 1; };
    auto is_of_bytes = [&](size_t segment) {
        return units.separator_width == 0 &&
               end_of(segment) - units.boundary(first_of(segment)) == n_units_of(segment);
    };
    for (size_t segment = 0; segment < n_segments;) {
        size_t first = first_of(segment), n_units = n_units_of(segment),
               begin = units.boundary(first);
        bool single_bytes = is_of_bytes(segment);
        if (single_bytes && n_units <= MAX_SHORT_UNITS && few_orders) {
            size_t end = segment + 1;
            while (end < n_segments && n_units_of(end) <= MAX_SHORT_UNITS && is_of_bytes(end) &&
                   units.boundary(first_of(end)) == end_of(end - 1) &&
                   end_of(end) - begin <= MAX_VECTOR_UNITS)
                end++;
            hashes = hash_short_segments(units, segment, end, range, out, hashes);
            segment = end;
            continue;
        }
        segment++;
        size_t shortest = range.short_whole && n_units < min_n ? n_units : min_n;
        if (shortest == 0 || n_units < shortest) continue;
        if (single_bytes && n_units >= (min_n > MIN_VECTOR_UNITS ? min_n : MIN_VECTOR_UNITS))
            hashes = hash_single_bytes(units.text.data + begin, n_units, min_n,
                                       max_n < n_units ? max_n : n_units, out, hashes);
        else
            hashes = hash_segment(units, first, n_units, shortest, max_n, hashes);
    }
}

// Hash all n-grams of every segment.
template <class Index>
inline void hash_ngrams(const UnitsView<Index>& units, NgramRange range, NgramHashes& out) {
    // No segment has as many units as there are boundaries: larger numbers, which would overflow,
    // are of no use.
    size_t most = units.boundaries.size;
    if (range.min_n > most) range.min_n = most;
    if (range.max_n > most) range.max_n = most;
    ngram_offsets(units.segments, units.rows, static_cast<int64_t>(range.min_n),
                  static_cast<int64_t>(range.max_n), range.short_whole, out.offsets);
    out.hashes.resize(static_cast<size_t>(out.offsets[units.rows.size - 1]) + N_COPIED);
    if (most == 0) return;
    if (units.separator_width == 1 && range.max_n <= 2 && !range.short_whole)
        hash_words_and_pairs(units, range, out);
    else
        hash_segments(units, range, out);
}

template <class Index>
void hash_at_best_level(const UnitsView<Index>& units, const NgramRange& range, NgramHashes& out);

// Hash all skip-grams of every segment: n words in order, at most `max_skip` left out between first
// and last.
inline void hash_skipgrams(const UnitsView<int64_t>& units, size_t min_n, size_t max_n,
                           size_t max_skip, NgramHashes& out) {
    Buffer<uint8_t> joined(units.text.size + PADDING);
    Buffer<size_t> chosen(max_n);
    out.offsets.push_back(0);
    auto hash_words = [&](size_t n) {
        size_t length = 0;
        for (size_t i = 0; i < n; i++) {
            size_t begin = units.boundary(chosen[i]), size = units.boundary(chosen[i] + 1) - begin;
            std::memcpy(joined.data() + length, units.text.data + begin,
                        size);  // with the space after the word
            length += size;
        }
        return murmur3(joined.data(), length - 1, SEED);
    };
    for (size_t row = 0; row + 1 < units.rows.size; row++) {
        for (auto segment = static_cast<size_t>(units.rows[row]);
             segment < static_cast<size_t>(units.rows[row + 1]); segment++) {
            auto first = static_cast<size_t>(units.segments[segment]),
                 end = static_cast<size_t>(units.segments[segment + 1]) - 1;
            for (size_t n = min_n; n <= max_n; n++) {
                for (size_t start = first; start + n <= end; start++) {
                    size_t furthest =
                        start + n - 1 + max_skip < end - 1 ? start + n - 1 + max_skip : end - 1;
                    for (size_t i = 0; i < n; i++) chosen[i] = start + i;
                    while (true) {
                        out.hashes.push_back(hash_words(n));
                        // The next combination: advance the last possible word, and move the
                        // following words next to it.
                        size_t moving = n - 1;
                        while (moving > 0 && chosen[moving] == furthest - (n - 1 - moving))
                            moving--;
                        if (moving == 0) break;
                        chosen[moving]++;
                        for (size_t i = moving + 1; i < n; i++) chosen[i] = chosen[i - 1] + 1;
                    }
                }
            }
        }
        out.offsets.push_back(static_cast<int64_t>(out.hashes.size()));
    }
}

}  // namespace hashnlp
