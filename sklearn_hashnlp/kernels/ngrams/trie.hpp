// Lookup of the probabilities and backoff weights of n-grams in a trie.
#pragma once

#include "../memory.hpp"

namespace hashnlp {

// The arrays of NgramTrie in _trie.py: nodes are sorted by order, then by parent, then by word; 0
// is the root.
struct NgramTrie {
    Vector<const int32_t> words, first_child, suffixes;
    Vector<const double> log_probs, backoffs;

    // Return the child of a context with a word, or -1, by binary search.
    int64_t find_child(int64_t node, int64_t word) const {
        if (node == 0) return word + 1;
        int64_t low = first_child[node], end = first_child[node + 1], high = end;
        while (low < high) {
            int64_t middle = (low + high) >> 1;
            if (words[middle] < word) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low < end && words[low] == word ? low : -1;
    }

    // Return the longest suffix of a context and a word that is a context.
    int64_t next_context(int64_t context, int64_t word) const {
        auto n_contexts = static_cast<int64_t>(suffixes.size);
        for (;; context = suffixes[context]) {
            if (first_child[context] <
                n_contexts) {  // otherwise all children are of the highest order
                int64_t child = find_child(context, word);
                if (child >= 0 && child < n_contexts) return child;
            }
            if (context == 0) return 0;
        }
    }

    double score(int64_t context, int64_t word) const {
        double weight = 0.0;
        for (;; context = suffixes[context]) {
            int64_t child = find_child(context, word);
            if (child >= 0) return weight + log_probs[child];
            weight += backoffs[context];
        }
    }
};

// Find the node of each n-gram, -1 if it does not exist; n-grams are rows of word ids.
inline void find_nodes(const NgramTrie& trie, Matrix<const int32_t> ngrams, Vector<int64_t> nodes) {
    for (size_t row = 0; row < ngrams.rows; row++) {
        int64_t node = 0;
        for (size_t i = 0; i < ngrams.columns && node >= 0; i++)
            node = trie.find_child(node, ngrams[row][i]);
        nodes[row] = node;
    }
}

// Compute the log10 of the probability of the word at each position of a text after the n_context
// words before.
template <class Position>
void score_positions(const NgramTrie& trie, Vector<const int32_t> text,
                     Vector<const Position> positions, int64_t n_context, Vector<double> scores) {
    int64_t context = 0, before = -2;
    for (size_t row = 0; row < positions.size; row++) {
        int64_t position = positions[row],
                first = before;  // the context continues with the previous word
        if (position != before + 1) {
            context = 0;
            first = position - n_context;
        }
        for (int64_t i = first; i < position; i++) context = trie.next_context(context, text[i]);
        scores[row] = trie.score(context, text[position]);
        before = position;
    }
}

// Compute the log10 of the probabilities of all words, one for each column, after each context, a
// row of word ids.
inline void score_all_words(const NgramTrie& trie, Matrix<const int64_t> contexts,
                            Matrix<double> scores) {
    Buffer<int64_t> chain(contexts.columns + 1);  // the context and its suffixes, down to the root
    Buffer<double> weights(contexts.columns +
                           1);  // the sum of the backoff weights of all longer suffixes
    for (size_t row = 0; row < contexts.rows; row++) {
        int64_t context = 0;
        for (size_t i = 0; i < contexts.columns; i++)
            context = trie.next_context(context, contexts[row][i]);
        size_t depth = 0;
        chain[0] = context;
        weights[0] = 0.0;
        for (; context != 0; depth++) {
            weights[depth + 1] = weights[depth] + trie.backoffs[context];
            context = chain[depth + 1] = trie.suffixes[context];
        }
        double* of_words = scores[row];
        for (size_t word = 0; word < scores.columns; word++)
            of_words[word] = weights[depth] + trie.log_probs[1 + word];
        for (size_t i = depth; i-- > 0;) {
            for (int32_t child = trie.first_child[chain[i]]; child < trie.first_child[chain[i] + 1];
                 child++)
                of_words[trie.words[child]] = weights[i] + trie.log_probs[child];
        }
    }
}

}  // namespace hashnlp
