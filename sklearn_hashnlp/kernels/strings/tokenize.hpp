// Tokenizers: documents split into words, characters, or the characters of words.
#pragma once

#include "ascii_words.hpp"
#include "unicode.hpp"

namespace hashnlp {

// Documents in UTF-8, each followed by a line feed.
struct Documents {
    Vector<const uint8_t> bytes;
    Vector<const int64_t> offsets;  // (n + 1,)
    Vector<const bool> is_ascii;    // (n,)
};

// Rows made of segments made of units; see `Units` in _units.py. Numbers are of 64 bits for large
// texts.
template <class Index>
struct Units {
    Buffer<uint8_t> text;  // with `PADDING` more bytes
    Buffer<Index> boundaries, segments, rows;
    AsciiWords<Index> words;  // memory of the tokenizers
};

struct Tokenizer {
    const uint8_t* classes;  // of each code point; of ASCII if all documents are
    bool lowercase = false;  // whether to lowercase ASCII documents
    size_t min_length = 1;   // of words, not of punctuation
    bool keep_punctuation = true;
    uint8_t before = ' ', after = ' ';  // characters around words that are split into characters

    bool split_punctuation() const { return classes['!'] == OTHER; }
};

// Where a tokenizer writes.
template <class Index>
struct Cursor {
    uint8_t* text;
    Index* boundaries;
    size_t to = 0, n_boundaries = 0;

    void add_boundary(size_t position) {
        boundaries[n_boundaries++] = static_cast<Index>(position);
    }

    void copy(const uint8_t* character, size_t width) {
        for (size_t i = 0; i < width; i++) text[to++] = character[i];
    }
};

// Call a function with the words of each run of ASCII documents, and another with each other
// document.
template <class Index, class OfAscii, class OfUnicode>
inline void for_each_run(const Documents& documents, const Tokenizer& tokenizer,
                         bool keep_punctuation, Units<Index>& units, OfAscii of_ascii,
                         OfUnicode of_unicode) {
    const int64_t* offsets = documents.offsets.data;
    size_t n = documents.is_ascii.size;
    for (size_t row = 0; row < n;) {
        auto begin = static_cast<size_t>(offsets[row]);
        if (!documents.is_ascii[row]) {
            of_unicode(row, documents.bytes.data + begin, documents.bytes.data + offsets[row + 1]);
            row++;
            continue;
        }
        size_t end = row + 1;
        while (end < n && documents.is_ascii[end]) end++;
        find_ascii_words(documents.bytes.data + begin, static_cast<size_t>(offsets[end]) - begin,
                         tokenizer.split_punctuation(), tokenizer.lowercase, keep_punctuation,
                         units.words);
        const uint8_t* lower = units.words.lower.data();
        const Index *start = units.words.starts.data(), *stop = units.words.ends.data();
        for (; row < end; row++) {
            const Index* last = start;
            auto limit = static_cast<Index>(static_cast<size_t>(offsets[row + 1]) - begin);
            while (*last < limit) last++;
            of_ascii(row, lower, start, stop, static_cast<size_t>(last - start));
            stop += last - start;
            start = last;
        }
    }
}

// Split each document into words, a space after each.
template <class Index>
inline void split_words(const Documents& documents, const Tokenizer& tokenizer,
                        Units<Index>& units) {
    size_t n_bytes = documents.bytes.size, n_rows = documents.is_ascii.size;
    Cursor<Index> out{units.text.resize(2 * n_bytes + n_rows + PADDING),
                      units.boundaries.resize(n_bytes + n_rows + 1)};
    Index* segments = units.segments.resize(n_rows + 1);
    const size_t min_length = tokenizer.min_length;
    const bool keeps = tokenizer.keep_punctuation, keeps_short = keeps && min_length > 1;
    const uint8_t* classes = tokenizer.classes;
    for_each_run(
        documents, tokenizer, keeps, units,
        [&](size_t row, const uint8_t* lower, const Index* starts, const Index* stops,
            size_t n_words) {
            segments[row] = static_cast<Index>(out.n_boundaries);
            for (size_t i = 0; i < n_words; i++) {
                size_t length = static_cast<size_t>(stops[i] - starts[i]);
                const uint8_t* word = lower + starts[i];
                out.boundaries[out.n_boundaries] = static_cast<Index>(out.to);
                copy_word(word, length, out.text + out.to);
                // A word that is too short is overwritten by the next.
                bool is_kept = length >= min_length || (keeps_short && classes[*word] == OTHER);
                out.to += is_kept ? length + 1 : 0;
                out.n_boundaries += is_kept;
            }
            out.add_boundary(out.to);
        },
        [&](size_t row, const uint8_t* at, const uint8_t* end) {
            segments[row] = static_cast<Index>(out.n_boundaries);
            size_t begin = out.to,
                   length = 0;  // of the run of word characters being written, in characters
            while (at < end) {
                size_t width = utf8_width(*at);
                uint8_t kind = classes[utf8_code_point(at, width)];
                if (kind == WORD) {
                    out.copy(at, width);
                    length++;
                } else {
                    if (length >= min_length) {
                        out.add_boundary(begin);
                        out.text[out.to++] = ' ';
                        begin = out.to;
                    }
                    out.to = begin;
                    length = 0;
                    if (kind == OTHER && keeps) {
                        out.add_boundary(begin);
                        out.copy(at, width);
                        out.text[out.to++] = ' ';
                        begin = out.to;
                    }
                }
                at += width;
            }
            out.to = begin;
            out.add_boundary(out.to);
        });
    segments[n_rows] = static_cast<Index>(out.n_boundaries);
    units.text.resize(out.to + PADDING);
    units.boundaries.resize(out.n_boundaries);
    units.rows.resize(n_rows + 1);
    for (size_t row = 0; row <= n_rows; row++) units.rows[row] = static_cast<Index>(row);
}

// Split each document, without its line feed, into characters; a run of whitespace becomes one
// space, but a single whitespace character is kept.
template <class Index>
inline void split_characters(const Documents& documents, const Tokenizer& tokenizer,
                             Units<Index>& units) {
    size_t n_bytes = documents.bytes.size, n_rows = documents.is_ascii.size;
    Cursor<Index> out{units.text.resize(n_bytes + BLOCK + PADDING),
                      units.boundaries.resize(n_bytes + n_rows + BLOCK)};
    Index* segments = units.segments.resize(n_rows + 1);
    units.rows.resize(n_rows + 1);
    for (size_t row = 0; row < n_rows; row++) {
        units.rows[row] = static_cast<Index>(row);
        segments[row] = static_cast<Index>(out.n_boundaries);
        const uint8_t* at = documents.bytes.data + documents.offsets[row];
        const uint8_t* end = documents.bytes.data + documents.offsets[row + 1] - 1;
        bool in_space = false;
        for (; documents.is_ascii[row] && at < end; at += BLOCK) {
            alignas(64) uint8_t lower[BLOCK];
            auto size = static_cast<size_t>(end - at);
            if (size > BLOCK) size = BLOCK;
            uint64_t space = classify_block(at, size, false, tokenizer.lowercase, lower).space;
            if (size < BLOCK) space &= (uint64_t{1} << size) - 1;
            uint64_t continues = space & (space << 1 | uint64_t{in_space});
            in_space = space >> (size - 1) & 1;
            if (continues == 0) {  // excess characters and boundaries are overwritten
                std::memcpy(out.text + out.to, lower, BLOCK);
                Index* boundaries = out.boundaries + out.n_boundaries;
                for (size_t i = 0; i < BLOCK; i++) boundaries[i] = static_cast<Index>(out.to + i);
                out.to += size;
                out.n_boundaries += size;
                continue;
            }
            for (size_t i = 0; i < size; i++) {
                size_t is_more = continues >> i & 1;
                out.to -= is_more;
                out.n_boundaries -= is_more;
                out.add_boundary(out.to);
                out.text[out.to++] = is_more ? ' ' : lower[i];
            }
        }
        while (at < end) {
            size_t width = utf8_width(*at);
            bool is_space = tokenizer.classes[utf8_code_point(at, width)] == SPACE;
            if (is_space && in_space) {
                out.to = static_cast<size_t>(out.boundaries[out.n_boundaries - 1]);
                out.text[out.to++] = ' ';
            } else {
                out.add_boundary(out.to);
                out.copy(at, width);
            }
            in_space = is_space;
            at += width;
        }
        out.add_boundary(out.to);
    }
    units.rows[n_rows] = static_cast<Index>(n_rows);
    segments[n_rows] = static_cast<Index>(out.n_boundaries);
    units.text.resize(out.to + PADDING);
    units.boundaries.resize(out.n_boundaries);
}

// Split words, and punctuation if they are split at it, into characters, with one more before and
// after each word.
template <class Index>
inline void split_word_characters(const Documents& documents, const Tokenizer& tokenizer,
                                  Units<Index>& units) {
    constexpr size_t N_AT_ONCE = 8;  // boundaries
    size_t n_bytes = documents.bytes.size, n_rows = documents.is_ascii.size;
    // At worst each byte is a word: three bytes and four boundaries.
    Cursor<Index> out{units.text.resize(3 * n_bytes + PADDING),
                      units.boundaries.resize(4 * n_bytes + N_AT_ONCE)};
    Index* segments = units.segments.resize(n_bytes + 1);
    Index* rows = units.rows.resize(n_rows + 1);
    size_t n_segments = 0;
    for_each_run(
        documents, tokenizer, true, units,
        [&](size_t row, const uint8_t* lower, const Index* starts, const Index* stops,
            size_t n_words) {
            rows[row] = static_cast<Index>(n_segments);
            for (size_t i = 0; i < n_words; i++) {
                segments[n_segments++] = static_cast<Index>(out.n_boundaries);
                size_t length = static_cast<size_t>(stops[i] - starts[i]);
                out.text[out.to] = tokenizer.before;
                copy_word(lower + starts[i], length, out.text + out.to + 1);
                out.text[out.to + length + 1] = tokenizer.after;
                for (size_t first = 0; first <= length + 2;
                     first += N_AT_ONCE) {  // excess boundaries are overwritten
                    Index* boundaries = out.boundaries + out.n_boundaries + first;
                    for (size_t j = 0; j < N_AT_ONCE; j++)
                        boundaries[j] = static_cast<Index>(out.to + first + j);
                }
                out.n_boundaries += length + 3;
                out.to += length + 2;
            }
        },
        [&](size_t row, const uint8_t* at, const uint8_t* end) {
            rows[row] = static_cast<Index>(n_segments);
            auto add = [&](const uint8_t* character, size_t width) {
                out.add_boundary(out.to);
                out.copy(character, width);
            };
            uint8_t last_kind = SPACE;
            while (at < end) {
                size_t width = utf8_width(*at);
                uint8_t kind = tokenizer.classes[utf8_code_point(at, width)];
                if (kind != WORD || last_kind != WORD) {
                    if (last_kind != SPACE) {
                        add(&tokenizer.after, 1);
                        out.add_boundary(out.to);
                    }
                    if (kind != SPACE) {
                        segments[n_segments++] = static_cast<Index>(out.n_boundaries);
                        add(&tokenizer.before, 1);
                    }
                }
                if (kind != SPACE) add(at, width);
                last_kind = kind;
                at += width;
            }
        });
    rows[n_rows] = static_cast<Index>(n_segments);
    segments[n_segments] = static_cast<Index>(out.n_boundaries);
    units.text.resize(out.to + PADDING);
    units.boundaries.resize(out.n_boundaries);
    units.segments.resize(n_segments + 1);
}

// A set of words, an open-addressing hash table, at most half full; see `WordSet` in _units.py.
struct WordSet {
    Vector<const int64_t> slots;  // index of the word in each slot, or -1; none for no words
    Vector<const uint8_t> words;
    Vector<const int64_t> offsets;

    bool contains(const uint8_t* word, size_t length) const {
        size_t mask = slots.size - 1;
        for (size_t slot = static_cast<size_t>(murmur3(word, length, 0)) & mask; slots[slot] >= 0;
             slot = (slot + 1) & mask) {
            const int64_t* span = offsets.data + slots[slot];
            if (static_cast<size_t>(span[1] - span[0]) == length &&
                std::memcmp(words.data + span[0], word, length) == 0)
                return true;
        }
        return false;
    }
};

// Drop the words of a set from words in place.
template <class Index>
inline void drop_stop_words(const WordSet& set, Units<Index>& units) {
    if (set.slots.size == 0) return;
    uint8_t* text = units.text.data();
    Index *boundaries = units.boundaries.data(), *segments = units.segments.data();
    size_t to = 0, n_boundaries = 0;
    for (size_t segment = 0; segment + 1 < units.segments.size(); segment++) {
        auto first = static_cast<size_t>(segments[segment]),
             last = static_cast<size_t>(segments[segment + 1]) - 1;
        segments[segment] = static_cast<Index>(n_boundaries);
        for (size_t i = first; i < last; i++) {
            auto start = static_cast<size_t>(boundaries[i]),
                 stop = static_cast<size_t>(boundaries[i + 1]);
            if (set.contains(text + start, stop - 1 - start)) continue;
            boundaries[n_boundaries++] = static_cast<Index>(to);
            std::memmove(text + to, text + start, stop - start);  // with the space after the word
            to += stop - start;
        }
        boundaries[n_boundaries++] = static_cast<Index>(to);
    }
    segments[units.segments.size() - 1] = static_cast<Index>(n_boundaries);
    units.boundaries.resize(n_boundaries);
}

enum Analyzer : int { WORDS = 0, CHARACTERS = 1, WORD_CHARACTERS = 2 };

// Split documents by an analyzer, with the best instructions.
template <class Index>
void split(Analyzer analyzer, const Documents& documents, const Tokenizer& tokenizer,
           const WordSet& stop_words, Units<Index>& units);

}  // namespace hashnlp
