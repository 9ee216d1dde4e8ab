// Counts of the recent words of a text, for a cache language model.
#pragma once

#include "../memory.hpp"

namespace hashnlp {

// Count each word of a text, and the pair of it and the word before, among the words before it.
// `starts` are those of the text's parts: words before the start of their own part are not counted.
// `weights` are by distance.
inline void count_before(Vector<const int32_t> text, Vector<const int64_t> starts, size_t n_ids,
                         Vector<const double> weights, Vector<double> words, Vector<double> n_words,
                         Vector<double> bigrams, Vector<double> n_bigrams) {
    Buffer<double> sums(weights.size + 1);
    sums[0] = 0;
    for (size_t i = 0; i < weights.size; i++) sums[i + 1] = sums[i] + weights[i];
    // Only occurrences of the two words are visited: each has a link to the one before it.
    Buffer<int64_t> last(n_ids, -1), previous(text.size);
    auto n_starts = static_cast<int64_t>(starts.size), size = static_cast<int64_t>(text.size);
    int64_t part = -1, start = 0;
    for (int64_t at = 0; at < size; at++) {
        while (part + 1 < n_starts && starts[part + 1] <= at) start = starts[++part];
        int64_t oldest = at - static_cast<int64_t>(weights.size),
                begin = start > oldest ? start : oldest;
        double n_same = 0, n_pairs = 0, n_first = 0;
        for (int64_t index = last[text[at]]; index >= begin; index = previous[index])
            n_same += weights[at - 1 - index];
        for (int64_t index = at > begin ? previous[at - 1] : -1; index >= begin;
             index = previous[index]) {
            double weight = weights[at - 2 - index];
            n_first += weight;
            if (text[index + 1] == text[at]) n_pairs += weight;
        }
        words[at] = n_same;
        n_words[at] = sums[at - begin];
        bigrams[at] = n_pairs;
        n_bigrams[at] = n_first;
        previous[at] = last[text[at]];
        last[text[at]] = at;
    }
}

// Count every word, and every word after the last word, in each context; ids from `words.columns`
// on are padding. The matrices hold zeros before.
inline void count_contexts(Matrix<const int64_t> contexts, Vector<const double> weights,
                           Matrix<double> words, Vector<double> n_words, Matrix<double> bigrams,
                           Vector<double> n_bigrams) {
    size_t width = contexts.columns;
    for (size_t row = 0; row < contexts.rows; row++) {
        const int64_t* context = contexts[row];
        double n_all = 0, n_first = 0;
        for (size_t distance = 0; distance < width; distance++) {
            size_t column = width - 1 - distance;
            auto word = static_cast<size_t>(context[column]);
            if (word >= words.columns) break;
            words[row][word] += weights[distance];
            n_all += weights[distance];
            if (column > 0 && context[column - 1] == context[width - 1]) {
                bigrams[row][word] += weights[distance];
                n_first += weights[distance];
            }
        }
        n_words[row] = n_all;
        n_bigrams[row] = n_first;
    }
}

}  // namespace hashnlp
