// Vectors of texts: weighted sums of the coefficients of their words, the character n-grams of
// these, and pairs of neighboring words.
#pragma once

#include <cmath>

#include "../lanes.hpp"
#include "../strings/join_lines.hpp"
#include "../strings/tokenize.hpp"
#include "../vector_math.hpp"
#include "fingerprints.hpp"

namespace hashnlp {

// The rows of a table: numbers, or codes of 4 bits, of which the lower ones of a row are of its
// first half, rounded up. A code stands for (code - 8) * scale of its row.
struct CoefficientTable {
    Matrix<const float> values;   // (0, 0) if there are codes
    Matrix<const uint8_t> codes;  // (n_rows, half of n_columns)
    Vector<const float> scales;   // (n_rows,)

    void prefetch(size_t row) const {
        if (values.rows > 0)
            prefetch_row(values[row], values.columns);
        else
            prefetch_row(codes[row], codes.columns);
    }

    // Add a row times a weight to a vector; codes to the same bits as their values.
    void add_row(float* total, float weight, size_t row, size_t n_columns) const {
        if (values.rows > 0) return add_times(total, weight, values[row], n_columns);
        size_t half = codes.columns;
        add_codes<0>(total, weight, codes[row], scales[row], half);
        add_codes<4>(total + half, weight, codes[row], scales[row], n_columns - half);
    }

    static void add_times(float* __restrict total, float weight, const float* __restrict vector,
                          size_t n) {
        for (size_t i = 0; i < n; i++) total[i] += weight * vector[i];
    }

private:
    template <int SHIFT>
    static void add_codes(float* __restrict total, float weight, const uint8_t* __restrict codes,
                          float scale, size_t n) {
        for (size_t i = 0; i < n; i++)
            total[i] += weight * (scale * static_cast<float>((codes[i] >> SHIFT & 15) - 8));
    }
};

// Hashes without repetition, in the order of their first occurrence.
struct DistinctHashes {
    Buffer<uint64_t> values;
    Buffer<int64_t> slots;  // index of the hash in each slot, or -1; at most half full

    // Forget all hashes, and make room for n.
    void clear(size_t n) {
        size_t n_slots = 16;
        while (n_slots < 2 * n) n_slots *= 2;
        slots.resize(n_slots);
        slots.fill(-1);
        values.resize(0);
    }

    // Add a hash; return whether it is new.
    bool add(uint64_t hash) {
        size_t mask = slots.size() - 1, slot = hash & mask;
        for (; slots[slot] >= 0; slot = (slot + 1) & mask)
            if (values[static_cast<size_t>(slots[slot])] == hash) return false;
        slots[slot] = static_cast<int64_t>(values.size());
        values.push_back(hash);
        return true;
    }
};

// Memory of a thread.
struct EncoderMemory {
    Lines lines;
    Units<int64_t> units;
    DistinctHashes words, pairs;
    Buffer<uint64_t> tokens, characters, hashes;  // of a text, a word, and the n-grams of a text
    Buffer<int64_t> ends, offsets;                // of the n-grams of each word and of the pairs
    Buffer<int32_t> own, rows;  // rows of the table: of each word, or -1, and of the n-grams
    // The vectors of frequent words, the first of the dictionary, and of the present word after
    // them: computed again they have the same bits.
    Buffer<float> vectors;
    Buffer<bool> is_kept;
};

// The weights of words and pairs are those in a text; character n-grams share one in their word.
struct NgramEncoder {
    Tokenizer tokenizer;
    size_t max_words;                   // of a text, which is truncated
    size_t min_n, max_n;                // of the characters of a word with its boundaries
    Vector<const uint64_t> dictionary;  // words, then character n-grams, then pairs
    Vector<const int32_t> slots;        // see fingerprint_slots
    Vector<const float> weights;        // (n,): of the dictionary
    size_t n_words;                     // of the dictionary
    float unknown_weight;               // of a word that is not in it
    double character_weight;  // norm of the weights of a word's n-grams, relative to the word's
    double norm_power;        // a text is divided by the norm of its words' weights to this power
    CoefficientTable table;
    Vector<const float> mean;  // (n_columns,): the vector of a text without known n-grams
    uint64_t of_ascii[0x80];   // the hashes of characters

    void hash_ascii() {
        for (uint8_t character = 0; character < 0x80; character++) {
            uint8_t padded[1 + PADDING] = {character};
            of_ascii[character] = unit_fingerprint(padded, 1);
        }
    }

    // Write the unit vectors of texts, zeros for a text without words; return the largest number
    // of words.
    size_t encode(Vector<const Text> texts, EncoderMemory& memory, Matrix<float> vectors) const {
        constexpr size_t GROUP = 4096;  // bytes of several texts that are split at once
        size_t longest = 0;
        // Few texts have few words in common.
        memory.is_kept.resize(texts.size < 16 ? 0 : n_words < N_KEPT ? n_words : N_KEPT);
        memory.is_kept.fill(false);
        memory.vectors.resize((memory.is_kept.size() + 1) * mean.size);
        for (size_t first = 0; first < texts.size;) {
            size_t last = first, size = 0;
            do size += texts[last++].size;
            while (last < texts.size && size + texts[last].size <= GROUP);
            join_lines({texts.data + first, last - first}, {}, {}, memory.lines);
            split(WORDS, {memory.lines.bytes, memory.lines.offsets, memory.lines.is_ascii},
                  tokenizer, {}, memory.units);
            const Buffer<int64_t>& segments = memory.units.segments;
            for (size_t i = 0; first < last; first++, i++) {
                auto begin = static_cast<size_t>(segments[i]);
                size_t n_words = static_cast<size_t>(segments[i + 1]) - begin - 1;
                longest = n_words > longest ? n_words : longest;
                encode_words(begin, n_words < max_words ? n_words : max_words, memory,
                             vectors[first]);
            }
        }
        return longest;
    }

private:
    static constexpr size_t N_KEPT = 2048;  // frequent words, with vectors of some megabytes

    // Write the vector of the words of a text, units from `first` on.
    void encode_words(size_t first, size_t n, EncoderMemory& memory, float* vector) const {
        hash_text(first, n, memory);
        find_fingerprints(memory.hashes, memory.ends, dictionary, slots, memory.rows,
                          memory.offsets);
        at_best_level([&]<size_t BYTES>(Registers<BYTES>) {
            const size_t n_columns = mean.size, n_distinct = memory.own.size();
            for (size_t column = 0; column < n_columns; column++) vector[column] = 0;
            if (n == 0) return;
            double squares = 0;
            for (size_t word = 0; word < n_distinct; word++) {
                int32_t own = memory.own[word];
                float weight = own >= 0 ? weights[static_cast<size_t>(own)] : unknown_weight;
                squares += static_cast<double>(weight) * static_cast<double>(weight);
                CoefficientTable::add_times(vector, weight, word_vector(word, memory), n_columns);
            }
            add_rows_of(memory.rows, static_cast<size_t>(memory.offsets[n_distinct]),
                        memory.rows.size(), 1, vector);
            // 1 / norm ** power, of a norm from 1 on
            auto scale = static_cast<float>(
                squares > 1 ? exp_of_negative(-norm_power / 2 * log_of_positive(squares)) : 1);
            for (size_t column = 0; column < n_columns; column++)
                vector[column] = vector[column] * scale + mean[column];
            float square[1][1];
            dot_block<BYTES, 1, 1, float>({vector}, {vector}, n_columns, square);
            float length = square[0][0] > 0 ? std::sqrt(square[0][0]) : 1;
            for (size_t column = 0; column < n_columns; column++) vector[column] /= length;
        });
    }

    // Return the sum of the rows of a word and of its n-grams.
    const float* word_vector(size_t word, EncoderMemory& memory) const {
        size_t own = static_cast<size_t>(memory.own[word]), n_kept = memory.is_kept.size();
        bool is_frequent = own < n_kept;  // -1 becomes the largest number
        float* vector = memory.vectors.data() + (is_frequent ? own : n_kept) * mean.size;
        if (is_frequent && memory.is_kept[own]) return vector;
        if (is_frequent) memory.is_kept[own] = true;
        for (size_t column = 0; column < mean.size; column++) vector[column] = 0;
        if (memory.own[word] >= 0) table.add_row(vector, 1, own, mean.size);
        auto begin = static_cast<size_t>(memory.offsets[word]),
             end = static_cast<size_t>(memory.offsets[word + 1]);
        double total = 0;
        for (size_t i = begin; i < end; i++) {
            auto weight = static_cast<double>(weights[static_cast<size_t>(memory.rows[i])]);
            total += weight * weight;
        }
        auto factor = static_cast<float>(character_weight / std::sqrt(total > 0 ? total : 1));
        add_rows_of(memory.rows, begin, end, factor, vector);
        return vector;
    }

    // Add some rows to a vector, each times its weight and a factor.
    void add_rows_of(const Buffer<int32_t>& rows, size_t begin, size_t end, float factor,
                     float* vector) const {
        constexpr size_t AHEAD = 8;  // rows between the prefetch of a row and its use
        for (size_t i = begin; i < end; i++) {
            size_t ahead = i + AHEAD < rows.size() ? i + AHEAD : i;
            table.prefetch(static_cast<size_t>(rows[ahead]));
            auto row = static_cast<size_t>(rows[i]);
            table.add_row(vector, factor * weights[row], row, mean.size);
        }
    }

    // Find the distinct words of a text; hash the pairs and, of each word whose vector is not kept,
    // the character n-grams.
    void hash_text(size_t first, size_t n, EncoderMemory& memory) const {
        const int64_t* boundaries = memory.units.boundaries.data() + first;
        memory.words.clear(n);
        memory.pairs.clear(n);
        memory.tokens.resize(n);
        memory.own.resize(0);
        memory.hashes.resize(0);
        memory.ends.resize(0);
        memory.ends.push_back(0);
        for (size_t i = 0; i < n; i++) {
            const uint8_t* word = memory.units.text.data() + boundaries[i];
            auto length = static_cast<size_t>(boundaries[i + 1] - boundaries[i]) - 1;
            memory.tokens[i] = unit_fingerprint(word, length);
            if (!memory.words.add(memory.tokens[i])) continue;
            int32_t own = find_fingerprint(memory.tokens[i], dictionary, slots);
            if (static_cast<size_t>(own) >= n_words) own = -1;
            memory.own.push_back(own);
            if (static_cast<size_t>(own) >= memory.is_kept.size() ||
                !memory.is_kept[static_cast<size_t>(own)])
                hash_characters(word, length, memory);
            memory.ends.push_back(static_cast<int64_t>(memory.hashes.size()));
        }
        for (size_t i = 0; i + 1 < n; i++) {
            uint64_t pair = pair_fingerprint(memory.tokens[i], memory.tokens[i + 1]);
            if (memory.pairs.add(pair)) memory.hashes.push_back(pair);
        }
        memory.ends.push_back(static_cast<int64_t>(memory.hashes.size()));
    }

    // Append the hashes of the character n-grams of a word.
    void hash_characters(const uint8_t* word, size_t length, EncoderMemory& memory) const {
        Buffer<uint64_t>& characters = memory.characters;
        characters.resize(0);
        characters.push_back(of_ascii[tokenizer.before]);
        for (size_t at = 0, width; at < length; at += width) {
            width = utf8_width(word[at]);
            characters.push_back(width == 1 ? of_ascii[word[at]]
                                            : unit_fingerprint(word + at, width));
        }
        characters.push_back(of_ascii[tokenizer.after]);
        size_t n_units = characters.size();
        for (size_t start = 0; start + min_n <= n_units; start++) {
            uint64_t hash = 0;
            for (size_t n = 1; n <= max_n && start + n <= n_units; n++) {
                hash = extended_fingerprint(hash, characters[start + n - 1]);
                if (n >= min_n) memory.hashes.push_back(hash);
            }
        }
    }
};

}  // namespace hashnlp
