// The rows of fastText's input matrix that a text selects: words, character n-grams and word
// n-grams.
#pragma once

#include <tuple>

#include "../memory.hpp"

namespace hashnlp {

// The arrays and numbers of FastTextTables in _fasttext_rows.py.
struct FastTextTables {
    Vector<const uint8_t> names;
    Vector<const int64_t> offsets;
    Matrix<const int32_t> slots, pruned;
    int64_t n_words, n_pruned, bucket, word_ngrams, min_n, max_n;
    Vector<const uint8_t> label_prefix;
    Vector<const int32_t> subwords;
    Vector<const int64_t> subword_ends;
};

// Some bytes of a text and their hash.
struct FastTextToken {
    const uint8_t* bytes;
    size_t length;
    uint32_t hash;
};

constexpr uint32_t FNV_BASIS = 2166136261, FNV_PRIME = 16777619;  // of FNV-1a in 32 bits
constexpr uint8_t END_OF_LINE[] = {'<', '/', 's',
                                   '>'};  // fastText adds it to each line; one inside ends the line

// Update FNV-1a with a byte, which counts as signed.
inline uint32_t fnv_mix(uint32_t state, uint8_t byte) {
    return (state ^ static_cast<uint32_t>(static_cast<int8_t>(byte))) * FNV_PRIME;
}

inline FastTextToken fasttext_token(const uint8_t* bytes, size_t length) {
    uint32_t state = FNV_BASIS;
    for (size_t i = 0; i < length; i++) state = fnv_mix(state, bytes[i]);
    return {bytes, length, state};
}

inline FastTextToken fasttext_entry(Vector<const uint8_t> names, Vector<const int64_t> offsets,
                                    size_t entry) {
    return fasttext_token(names.data + offsets[entry],
                          static_cast<size_t>(offsets[entry + 1] - offsets[entry]));
}

inline bool is_end_of_line(const uint8_t* bytes, size_t length) {
    return length == sizeof END_OF_LINE && std::memcmp(bytes, END_OF_LINE, sizeof END_OF_LINE) == 0;
}

// Return the slot of a token: that of its entry, or the empty one where it would be.
inline size_t find_entry(Vector<const uint8_t> names, Vector<const int64_t> offsets,
                         Matrix<const int32_t> slots, FastTextToken token) {
    size_t slot = token.hash & (slots.rows - 1);
    for (;; slot = (slot + 1) & (slots.rows - 1)) {
        int32_t entry = slots[slot][0];
        if (entry < 0) return slot;
        if (slots[slot][1] != static_cast<int32_t>(token.hash)) continue;
        const uint8_t* name = names.data + offsets[entry];
        if (static_cast<size_t>(offsets[entry + 1] - offsets[entry]) != token.length) continue;
        size_t i = 0;
        while (i < token.length && name[i] == token.bytes[i]) i++;
        if (i == token.length) return slot;
    }
}

// Return the slot of a kept bucket, or the empty one where it would be.
inline size_t find_bucket(Matrix<const int32_t> slots, int32_t bucket) {
    uint32_t mixed = static_cast<uint32_t>(bucket) * 0x9E3779B1u;
    size_t slot = (mixed ^ (mixed >> 15)) & (slots.rows - 1);
    while (slots[slot][0] >= 0 && slots[slot][0] != bucket) slot = (slot + 1) & (slots.rows - 1);
    return slot;
}

// Return the hash table of n entries without any: a power of two of pairs (-1, -1), more than twice
// as many.
inline Buffer<int32_t> empty_table(size_t n_entries) {
    size_t n_slots = 2;
    while (n_slots <= 2 * n_entries) n_slots *= 2;
    return Buffer<int32_t>(2 * n_slots, -1);
}

// Build the hash table of entries: the entry or -1, and the hash. Of equal entries the last is
// found.
inline Buffer<int32_t> hash_table(Vector<const uint8_t> names, Vector<const int64_t> offsets) {
    Buffer<int32_t> table = empty_table(offsets.size - 1);
    Matrix<const int32_t> slots{table.data(), table.size() / 2, 2};
    for (size_t entry = 0; entry + 1 < offsets.size; entry++) {
        FastTextToken token = fasttext_entry(names, offsets, entry);
        size_t slot = find_entry(names, offsets, slots, token);
        table[2 * slot] = static_cast<int32_t>(entry);
        table[2 * slot + 1] = static_cast<int32_t>(token.hash);
    }
    return table;
}

// Build the hash table from kept buckets to their new numbers; of equal buckets the last is found.
inline Buffer<int32_t> bucket_table(Matrix<const int32_t> pairs) {
    Buffer<int32_t> table = empty_table(pairs.rows);
    Matrix<const int32_t> slots{table.data(), table.size() / 2, 2};
    for (size_t i = 0; i < pairs.rows; i++)
        std::memcpy(&table[2 * find_bucket(slots, pairs[i][0])], pairs[i], 8);
    return table;
}

// Append the row of a bucket, if it was kept.
inline void add_bucket(const FastTextTables& tables, int64_t bucket, Buffer<int32_t>& rows) {
    if (tables.n_pruned >= 0)
        bucket = tables.pruned[find_bucket(tables.pruned, static_cast<int32_t>(bucket))][1];
    if (bucket >= 0) rows.push_back(static_cast<int32_t>(tables.n_words + bucket));
}

// Append the rows of the character n-grams of a token, which stands between < and >.
inline void add_subwords(const FastTextTables& tables, FastTextToken token, Buffer<int32_t>& rows) {
    size_t length = token.length + 2;
    auto byte_at = [&](size_t i) -> uint8_t {
        return i == 0 ? '<' : i == length - 1 ? '>' : token.bytes[i - 1];
    };
    auto is_inside = [&](size_t i) { return (byte_at(i) & 0xC0) == 0x80; };  // of a character
    for (size_t begin = 0; begin < length; begin++) {
        if (is_inside(begin)) continue;
        uint32_t state = FNV_BASIS;
        size_t at = begin;
        for (int64_t n = 1; at < length && n <= tables.max_n; n++) {
            do state = fnv_mix(state, byte_at(at++));
            while (at < length && is_inside(at));
            if (n >= tables.min_n && !(n == 1 && (begin == 0 || at == length)))
                add_bucket(tables, state % static_cast<uint32_t>(tables.bucket), rows);
        }
    }
}

// Append the rows of the n-grams of words, whose hashes count as signed.
inline void add_word_ngrams(const FastTextTables& tables, Vector<const int32_t> hashes,
                            Buffer<int32_t>& rows) {
    auto bucket = static_cast<uint64_t>(tables.bucket);
    for (size_t first = 0; first < hashes.size; first++) {
        auto state = static_cast<uint64_t>(int64_t{hashes[first]});
        size_t end = first + static_cast<size_t>(tables.word_ngrams);
        for (size_t last = first + 1; last < end && last < hashes.size; last++) {
            state = state * 116049371u + static_cast<uint64_t>(int64_t{hashes[last]});
            add_bucket(tables, static_cast<int64_t>(state % bucket), rows);
        }
    }
}

// Find the character n-grams of all words of the dictionary: return their rows, and where those of
// each word begin.
inline std::tuple<Buffer<int32_t>, Buffer<int64_t>> find_subwords(const FastTextTables& tables) {
    Buffer<int32_t> rows;
    Buffer<int64_t> ends(static_cast<size_t>(tables.n_words) + 1);
    ends[0] = 0;
    for (size_t word = 0; word + 1 < ends.size(); word++) {
        FastTextToken token = fasttext_entry(tables.names, tables.offsets, word);
        if (!is_end_of_line(token.bytes, token.length)) add_subwords(tables, token, rows);
        ends[word + 1] = static_cast<int64_t>(rows.size());
    }
    return {std::move(rows), std::move(ends)};
}

// Split a document into tokens; one that ends the line is left out, with all after it.
inline void split_line(Matrix<const int32_t> slots, const uint8_t* text, const uint8_t* stop,
                       Buffer<FastTextToken>& tokens) {
    auto is_blank = [](uint8_t byte) {
        return byte == ' ' || (byte >= '\t' && byte <= '\r') || byte == 0;
    };
    tokens.resize(0);
    while (true) {
        while (text < stop && is_blank(*text)) text++;
        const uint8_t* start = text;
        uint32_t state = FNV_BASIS;
        for (; text < stop && !is_blank(*text); text++) state = fnv_mix(state, *text);
        auto length = static_cast<size_t>(text - start);
        if (length == 0 || is_end_of_line(start, length)) return;
        prefetch(slots[state & (slots.rows - 1)]);
        tokens.push_back({start, length, state});
    }
}

// Find the rows of documents, in the order and as often as fastText adds them up. Each document has
// a byte after it; `end_of_line`: whether its token counts in all documents, or only in those that
// have no other token.
inline std::tuple<Buffer<int32_t>, Buffer<int64_t>> fasttext_rows(const FastTextTables& tables,
                                                                  Vector<const uint8_t> text,
                                                                  Vector<const int64_t> offsets,
                                                                  bool end_of_line) {
    Buffer<int32_t> rows, hashes;
    Buffer<int64_t> ends(offsets.size);
    Buffer<FastTextToken> tokens;
    const FastTextToken end = fasttext_token(END_OF_LINE, sizeof END_OF_LINE);
    Vector<const uint8_t> prefix = tables.label_prefix;
    auto entry_of = [&](FastTextToken token) -> int32_t {
        return tables.slots[find_entry(tables.names, tables.offsets, tables.slots, token)][0];
    };
    auto add_word = [&](int32_t entry, uint32_t hash) {
        hashes.push_back(static_cast<int32_t>(hash));
        if (entry >= 0) rows.push_back(entry);
    };
    int32_t end_entry = entry_of(end);
    ends[0] = 0;
    for (size_t document = 0; document + 1 < offsets.size; document++) {
        hashes.resize(0);
        split_line(tables.slots, text.data + offsets[document],
                   text.data + offsets[document + 1] - 1, tokens);
        for (FastTextToken token : tokens) {
            int32_t entry = entry_of(token);
            bool is_label = entry >= tables.n_words;
            if (entry < 0 && token.length >= prefix.size)
                is_label = std::memcmp(token.bytes, prefix.data, prefix.size) == 0;
            if (is_label) continue;
            add_word(entry, token.hash);
            if (entry >= 0 && tables.subword_ends.size > 0) {
                const int64_t* ends_of = &tables.subword_ends[entry];
                size_t n = static_cast<size_t>(ends_of[1] - ends_of[0]), n_before = rows.size();
                rows.resize(n_before + n);
                if (n > 0)
                    std::memcpy(&rows[n_before], tables.subwords.data + ends_of[0],
                                n * sizeof(int32_t));
            } else if (tables.max_n > 0) {
                add_subwords(tables, token, rows);
            }
        }
        if ((end_of_line || tokens.size() == 0) && end_entry < tables.n_words)
            add_word(end_entry, end.hash);
        if (tables.word_ngrams > 1) add_word_ngrams(tables, hashes, rows);
        ends[document + 1] = static_cast<int64_t>(rows.size());
    }
    return {std::move(rows), std::move(ends)};
}

}  // namespace hashnlp
