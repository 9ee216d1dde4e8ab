// Distinct n-grams of a text of word ids, sorted, and how often each occurs: order by order.
#pragma once

#include <tuple>

#include "../memory.hpp"

namespace hashnlp {

// Turn counts, that of i in `counts[i + 1]`, into the start of each part.
inline void add_up(Buffer<int64_t>& counts) {
    for (size_t i = 0; i + 1 < counts.size(); i++) counts[i + 1] += counts[i];
}

// Return the positions of the words 0 to n_words - 1, sorted by word; all other ids are separators.
inline Buffer<int32_t> sort_positions(Vector<const int32_t> text, size_t n_words) {
    Buffer<int64_t> starts(n_words + 1, 0);
    auto is_word = [&](int32_t word) { return static_cast<size_t>(word) < n_words; };
    for (int32_t word : text)
        if (is_word(word)) starts[word + 1]++;
    add_up(starts);
    Buffer<int32_t> positions(static_cast<size_t>(starts[n_words]));
    for (size_t at = 0; at < text.size; at++)
        if (is_word(text[at])) positions[starts[text[at]]++] = static_cast<int32_t>(at);
    return positions;
}

// Count the n-grams of order n: return the arrays of NgramCounts. `shorter` and `longer` are the
// index of the n-gram of order n - 1 and n that ends at each position, or -1; `positions` are those
// of sort_positions.
inline std::tuple<Buffer<int32_t>, Buffer<int32_t>, Buffer<int32_t>, Buffer<int32_t>> extend_ngrams(
    Vector<const int32_t> text, Vector<const bool> is_counted, Vector<const int32_t> positions,
    Vector<const int32_t> shorter, size_t n_shorter, Vector<int32_t> longer) {
    // Radix sort: the positions are sorted by word, and are now distributed over the first n - 1
    // words.
    auto parent_of = [&](int32_t position) { return position > 0 ? shorter[position - 1] : -1; };
    Buffer<int64_t> starts(n_shorter + 1, 0);
    for (int32_t position : positions)
        if (parent_of(position) >= 0) starts[parent_of(position) + 1]++;
    add_up(starts);
    Buffer<int32_t> ordered(static_cast<size_t>(starts[n_shorter]));
    for (int32_t position : positions)
        if (parent_of(position) >= 0) ordered[starts[parent_of(position)]++] = position;
    size_t n = 0;
    Buffer<int32_t> words(ordered.size()), parents(ordered.size()), suffixes(ordered.size()),
        counts(ordered.size());
    for (int32_t& index : longer) index = -1;
    for (int32_t position : ordered) {
        int32_t parent = parent_of(position), word = text[position];
        if (n == 0 || parents[n - 1] != parent || words[n - 1] != word) {
            words[n] = word;
            parents[n] = parent;
            suffixes[n] = shorter[position];
            counts[n++] = 0;
        }
        counts[n - 1] += is_counted[position];
        longer[position] = static_cast<int32_t>(n - 1);
    }
    for (Buffer<int32_t>* array : {&words, &parents, &suffixes, &counts}) array->resize(n);
    return {std::move(words), std::move(parents), std::move(suffixes), std::move(counts)};
}

}  // namespace hashnlp
